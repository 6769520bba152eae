export { TelemetryProvider } from "./telemetry-provider.ts";
