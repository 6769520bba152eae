export { Application, type ApplicationFetch, type FetchOptions, type ListenOptions } from "./application.ts";
export { Configuration, type ConfigurationSection } from "./configuration.ts";
export { type ApplicationOptions, createApplication } from "./create-application.ts";
export { createLogger } from "./create-logger.ts";
export { env, readEnvironment } from "./environment.ts";
export { type EnvironmentName, environmentName } from "./environment-name.ts";
export { loadConfiguration } from "./load-configuration.ts";
export { Provider, type ProviderClass } from "./provider.ts";
export type { ApplicationSettings, CompleteApplicationSettings, LogSettings } from "./settings.ts";
