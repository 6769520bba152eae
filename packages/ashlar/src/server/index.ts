export { acceptWaiting, STILL_COMING } from "./connections/closing.ts";
export { inheritedDescriptor, type ListenAddress, type Listens, listen } from "./connections/listen.ts";
export { type FileVersions, fileVersions } from "./files/file-version.ts";
export { staticFiles } from "./files/static-files.ts";
export { type HostListener, hostListener } from "./handlers/host-listener.ts";
export type { RequestHandler } from "./handlers/node-handler.ts";
export { type CompleteHealthSettings, DEFAULT_PATHS } from "./health-settings.ts";
export { overloadWords } from "./load/load-shedding.ts";
export { ConnectionRefuser, type SheddingFacts, sheddingFacts } from "./load/refused-connection.ts";
export { AddressWarnings } from "./requests/address-warnings.ts";
export { type HostRequest, withoutItsBody } from "./requests/host-request.ts";
export { hasPossibleHost, isKnownCoding } from "./requests/request-host.ts";
export { sendResponse } from "./responses/send-response.ts";
export { type ApplicationServer, type ConnectionSource, type RunningServer, startServer } from "./server.ts";
export {
  type CompleteServerSettings,
  completeServerSettings,
  DEFAULT_PORT,
  type ServerSettings,
  serverSettings,
} from "./settings.ts";
