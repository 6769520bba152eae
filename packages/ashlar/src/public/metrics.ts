export { MetricsProvider, type MetricsSettings, type PrimaryMetrics, relayMetrics } from "../metrics/index.ts";
