export { AddressWarnings } from "./address-warnings.ts";
export { acceptWaiting, STILL_COMING } from "./closing.ts";
export { type FileVersions, fileVersions } from "./files/file-version.ts";
export { staticFiles } from "./files/static-files.ts";
export { type CompleteHealthSettings, DEFAULT_PATHS } from "./health-settings.ts";
export { type HostListener, hostListener } from "./host-listener.ts";
export { type HostRequest, isAddress, withoutItsBody } from "./host-request.ts";
export { inheritedDescriptor, type ListenAddress, type Listens, listen } from "./listen.ts";
export { overloadWords } from "./load-shedding.ts";
export type { RequestHandler } from "./node-handler.ts";
export { ConnectionRefuser, type SheddingFacts, sheddingFacts } from "./refused-connection.ts";
export { hasPossibleHost } from "./request-host.ts";
export { sendResponse } from "./send-response.ts";
export {
  type ApplicationServer,
  type ConnectionSource,
  type RunningServer,
  startServer,
} from "./server.ts";
export {
  type CompleteServerSettings,
  completeServerSettings,
  DEFAULT_PORT,
  type ServerSettings,
  serverSettings,
} from "./settings.ts";
export { isKnownCoding } from "./transfer-coding.ts";
