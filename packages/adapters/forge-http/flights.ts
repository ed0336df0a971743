/**
 * Equal questions under way become one. The work is aborted once nobody waits for its answer any more.
 */
export const createFlights = <T>(): ((
  key: string,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
) => Promise<T>) => {
  const flights = new Map<string, { readonly answer: Promise<T>; readonly abandoned: AbortController; passengers: number }>();

  const start = (key: string, work: (signal: AbortSignal) => Promise<T>) => {
    const abandoned = new AbortController();
    const flight = { answer: work(abandoned.signal), abandoned, passengers: 0 };
    flights.set(key, flight);
    const land = () => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    flight.answer.then(land, land);
    return flight;
  };

  return async (key, work, signal) => {
    signal.throwIfAborted();
    const flight = flights.get(key) ?? start(key, work);
    flight.passengers += 1;
    const { promise, reject } = Promise.withResolvers<never>();
    const leave = () => reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await Promise.race([flight.answer, promise]);
    } finally {
      signal.removeEventListener('abort', leave);
      flight.passengers -= 1;
      if (flight.passengers === 0 && flights.get(key) === flight) {
        flights.delete(key);
        flight.abandoned.abort(signal.reason);
      }
    }
  };
};
