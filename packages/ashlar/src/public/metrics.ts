export { MetricsProvider, type MetricsSettings, relayMetrics } from "../metrics/index.ts";
