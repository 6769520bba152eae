export {
  type CookieSessions,
  cookieSessions,
  createSessionDataTable,
  csrfToken,
  databaseSessions,
  type Session,
  SessionMiddleware,
  SessionProvider,
  type SessionSettings,
  type SessionStore,
  type StoredSession,
  VerifyCsrfToken,
} from "../session/index.ts";
