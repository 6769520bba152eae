export {
  type TraceChannels,
  type TracedHash,
  type TracedMail,
  type TracedQuery,
  type TracedRequest,
  traceChannels,
} from "../support/index.ts";
export { TelemetryProvider } from "../telemetry/index.ts";
