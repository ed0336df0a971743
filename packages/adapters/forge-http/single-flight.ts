/** Concurrent calls with the same key share one execution. It is aborted when no caller waits any more. */
export const createSingleFlight = <T>(): ((
  key: string,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
) => Promise<T>) => {
  const calls = new Map<string, { readonly answer: Promise<T>; readonly abandoned: AbortController; waiters: number }>();

  const start = (key: string, work: (signal: AbortSignal) => Promise<T>) => {
    const abandoned = new AbortController();
    const call = { answer: work(abandoned.signal), abandoned, waiters: 0 };
    calls.set(key, call);
    const finish = () => {
      if (calls.get(key) === call) calls.delete(key);
    };
    call.answer.then(finish, finish);
    return call;
  };

  return async (key, work, signal) => {
    signal.throwIfAborted();
    const call = calls.get(key) ?? start(key, work);
    call.waiters += 1;
    const { promise, reject } = Promise.withResolvers<never>();
    const stopWaiting = () => reject(signal.reason);
    signal.addEventListener('abort', stopWaiting, { once: true });
    try {
      return await Promise.race([call.answer, promise]);
    } finally {
      signal.removeEventListener('abort', stopWaiting);
      call.waiters -= 1;
      if (call.waiters === 0 && calls.get(key) === call) {
        calls.delete(key);
        call.abandoned.abort(signal.reason);
      }
    }
  };
};
