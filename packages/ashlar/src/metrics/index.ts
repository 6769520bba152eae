export { relayMetrics } from "./cluster.ts";
export { MetricsProvider } from "./metrics-provider.ts";
export type { MetricsSettings } from "./settings.ts";
