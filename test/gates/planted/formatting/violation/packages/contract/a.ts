export const a = "a"
