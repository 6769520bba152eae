export {
  createSessionDataTable,
  csrfToken,
  type Session,
  type SessionConfiguration,
  SessionMiddleware,
  SessionProvider,
  VerifyCsrfToken,
} from "../session/index.ts";
