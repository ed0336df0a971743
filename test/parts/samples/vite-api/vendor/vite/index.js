export const defineConfig = (config) => config;
