export const fakeDiff = 'shop';
