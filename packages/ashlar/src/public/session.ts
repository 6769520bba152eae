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
  type StoredSession,
  VerifyCsrfToken,
} from "../session/index.ts";
