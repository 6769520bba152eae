export { AddressWarnings } from "./address-warnings.ts";
export { type FileVersions, fileVersions } from "./files/file-version.ts";
export { staticFiles } from "./files/static-files.ts";
export type { RequestHandler } from "./node-handler.ts";
export { type RunningServer, startServer } from "./server.ts";
export { type ServerSettings, serverSettings } from "./settings.ts";
