export const later = (callback: () => void): void => {
  setTimeout(callback, 1000);
};
