export {
  Csrf,
  cookieSessions,
  createSessionDataTable,
  databaseSessions,
  redisSessions,
  type Session,
  SessionMiddleware,
  SessionProvider,
  type SessionSettings,
  type SessionStore,
  VerifyCsrfToken,
} from "../session/index.ts";
