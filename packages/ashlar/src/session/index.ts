export type { SessionConfiguration } from "./configuration.ts";
export { csrfToken } from "./csrf-field.ts";
export { Session } from "./session.ts";
export { createSessionDataTable } from "./session-data-table.ts";
export { SessionMiddleware } from "./session-middleware.ts";
export { SessionProvider } from "./session-provider.ts";
export { VerifyCsrfToken } from "./verify-csrf-token.ts";
