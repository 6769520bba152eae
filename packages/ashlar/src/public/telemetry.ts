export {
  type TraceMessages,
  traceChannels,
} from "../support/index.ts";
export { TelemetryProvider } from "../telemetry/index.ts";
