import type { FoundProblem } from "../../boot/index.ts";
import type { MaybePromise } from "../../support/index.ts";
import type { Subject } from "./subject.ts";

/** How bad a finding is. An error makes the command exit with 1. */
export type Severity = "error" | "warning";

/** The fix for a finding. It never contains a secret. */
export interface Remedy {
  /** A command to run in the application's folder; `null` if there isn't one. Run it after adding the lines. */
  readonly run: string | null;
  /** The file that the lines belong in; `null` if there aren't any. */
  readonly file: string | null;
  /**
   * Lines to add to the file. In `.env`, `NAME=value` replaces the variable's line. In code, a comment before the lines says
   * where they go: `// in PROVIDERS`; a property replaces the one with its name.
   */
  readonly lines: readonly string[];
  /** Text to remove from the file, on the line of the finding; `null` if there is nothing to remove. */
  readonly remove: string | null;
  /** Further information, as a sentence; `null` if there isn't any. */
  readonly note: string | null;
}

/** A problem with an application. */
export interface Finding {
  readonly id: string;
  readonly severity: Severity;
  /** The application's file with the problem; `null` if it isn't in a file. */
  readonly file: string | null;
  /** The line in the file; `null` if unknown. */
  readonly line: number | null;
  /** The problem, in sentences. */
  readonly problem: string;
  readonly remedy: Remedy;
}

/** A check that could not be done. */
export interface SkippedCheck {
  readonly check: string;
  readonly reason: string;
}

/** Thrown to skip a check, because there is nothing to check. The message is the reason, as part of a sentence. */
export class SkippedError extends Error {}

/** A group of checks about one subject. */
export interface Check {
  /** The heading of its findings. */
  readonly name: string;
  /** Whether it needs the booted application, and so is skipped if the application doesn't boot. */
  readonly needsBoot: boolean;
  /** How long it may take, in seconds; default: 10. */
  readonly seconds?: number;
  /** Why the check isn't possible here: part of a sentence, such as "git is not installed"; `null` if it is possible. */
  obstacle?(subject: Subject): MaybePromise<string | null>;
  run(subject: Subject): MaybePromise<readonly Finding[]>;
}

// They are listed in `docs/reference/doctor.md`.
const MEANINGS = {
  "doctor.check": "A check could not be completed.",
  "node.version": "Node.js is older than the application or the framework allows.",
  "package.copies": "The package ashlar is installed more than once, so its classes exist twice.",
  "package.lockfile": "There is no lockfile: each installation may get other versions.",
  "upgrade.pending": "The application is in the form of an earlier version.",
  "public.private": "A private file is in public/, whose files anyone can download.",
  "public.secret": "A file in public/ contains a secret.",
  "env.file": ".env can't be read.",
  "env.mode": "Other users of the machine can read .env.",
  "env.ignored": "Git doesn't ignore .env.",
  "env.tracked": ".env is in the repository.",
  "env.contradiction": "APP_ENV, NODE_ENV and APP.environment contradict each other, or one is misspelled.",
  "secret.missing": "A secret is not set.",
  "secret.weak": "A secret is too short or not random.",
  "secret.known": "A secret is known to others: from .env.example, or made of well-known words.",
  "secret.shared": "Two secrets are the same.",
  "secret.tracked": "A file in the repository contains a secret.",
  "secret.history": "A commit contains a secret that is still in use.",
  "secret.previous": "A previous key is weak, the current key, or has been kept for more than 90 days.",
  "key.family": "A private key doesn't fit the algorithm that API tokens are signed with.",
  "key.staged": "A staged key has not been promoted for more than 7 days.",
  "url.missing": "Production has no APP_URL.",
  "url.invalid": "APP_URL is not the address of a site.",
  "url.http": "APP_URL is not https in production.",
  "url.loopback": "APP_URL is an address of this machine, in production.",
  "proxies.invalid":
    "A trusted proxy is neither an address nor a range, or the range is larger than anyone's own network.",
  "proxies.wide": "Whole private networks are trusted as proxies in production.",
  "proxies.socket": "The server listens at a unix socket, and doesn't trust the proxy there.",
  "proxies.missing": "APP_URL is https, so a proxy is in front, but no proxy is trusted.",
  "origins.invalid": "A trusted origin is not the origin of a site, or not https in production.",
  "host.public": "The proxy is on this machine, but the server listens on every address.",
  "config.file": "A configuration file can't be loaded.",
  "boot.entry": "There is no app.ts that creates an application.",
  "boot.failed": "The application doesn't boot.",
  "boot.warning": "The application logs a warning at startup, which no other finding reports.",
  "api.provider": "ApiProvider, or a provider that it needs, is not in PROVIDERS.",
  "api.routes": "The file with the API's routes is missing.",
  "api.location": "The kernel doesn't bind routes.api.location.",
  "api.model": "The model of DRIVERS.jwt can't hold tokens.",
  "api.column": "The table of a driver's users has no column for the token.",
  "api.table": "The table of API tokens, or of a driver's users, is missing.",
  "api.unique": "The token's column is not unique.",
  "api.config": "config/api.ts is missing, or doesn't export DRIVERS.",
  "api.endpoints": "The token endpoints, Api.routes(), are not in the routes.",
  "api.stack": "The api stack doesn't check tokens: JWTAuthenticationMiddleware is missing.",
  "api.session": "The api stack has sessions, which API clients don't keep.",
  "pages.provider": "A provider that the account pages need is not in PROVIDERS.",
  "pages.stack": "The web stack lacks middleware.",
  "pages.middleware": "The kernel doesn't name middleware that the account pages use.",
  "pages.model": "The users' model lacks a mixin.",
  "pages.guard": "GUARDS lacks the guard web, or the default.",
  "pages.mailables": "ACCOUNTS names no mails.",
  "pages.routes": "The account pages, Auth.routes(), are not in the routes.",
  "pages.tables": "A table or column that accounts use is missing.",
  "limits.provider": "Passwords can be tried, and ThrottleProvider is not in PROVIDERS.",
  "limits.route": "A route that a feature made with a limit, or another route with its handler, has no limit.",
  "database.connection": "The database can't be reached, or its file can't be read and written.",
  "database.folder": "Nothing can be written where the SQLite file is, because the disk is full or read-only.",
  "database.replica": "A read replica can't be read, or doesn't follow its primary.",
  "database.mode": "Other users of the machine can read the SQLite file.",
  "database.collation": "Text of a table doesn't compare byte by byte.",
  "database.engine": "A table has no transactions and no foreign keys.",
  "database.index": "An index is invalid, because creating it concurrently has failed.",
  "migrations.pending": "Migrations have not been run.",
  "migrations.risk": "A pending migration locks tables, or breaks the running version.",
  "migrations.missing": "Migrations were run whose files are missing.",
  "migrations.newer": "Migrations were run that are newer than all files.",
  "uploads.folder": "Large files of forms can't be written where they should be.",
  "uploads.room": "Uploads have less room than the routes and the settings allow them.",
  "routes.csrf": "A route that changes something runs with the visitor's session, but without CSRF protection.",
  "routes.stack": "A route that changes something is on no stack.",
  "routes.api": "A route for API clients is in the list of pages.",
  "routes.page": "A page is in the list of the API's routes.",
} as const;

/** The id of one of the doctor's own findings. It doesn't change between releases. */
export type FindingId = keyof typeof MEANINGS;

/** The ids of the doctor's own findings, each with its meaning. Features declare the ids of their own findings. */
export const FINDINGS: Readonly<Record<FindingId, string>> = MEANINGS;

/** The details of a finding; missing ones become `null`. */
type Details = Omit<FoundProblem, "at">;

/** Creates a finding that is an error. */
export function error(id: FindingId, details: Details): Finding {
  return finding(id, "error", details);
}

/** Creates a finding that is a warning. */
export function warning(id: FindingId, details: Details): Finding {
  return finding(id, "warning", details);
}

/** Creates a finding. */
export function finding(id: string, severity: Severity, details: Details): Finding {
  const { file = null, line = null, problem, run = null, lines = [], remove = null, note = null } = details;
  const edited = details.in ?? file;
  const isEdit = lines.length > 0 || remove !== null;
  return { id, severity, file, line, problem, remedy: { run, file: isEdit ? edited : null, lines, remove, note } };
}
