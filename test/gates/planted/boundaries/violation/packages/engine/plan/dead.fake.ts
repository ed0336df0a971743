export const fakeForgotten = true;
