export type { SessionConfiguration, SessionDriver } from "./configuration.ts";
export { CsrfField, csrfToken } from "./csrf-field.ts";
export { Session } from "./session.ts";
export { createSessionDataTable } from "./session-data-table.ts";
export { SessionManager } from "./session-manager.ts";
export { SessionMiddleware } from "./session-middleware.ts";
export { SessionProvider } from "./session-provider.ts";
export { VerifyCsrfToken } from "./verify-csrf-token.ts";
