import { all, type Edit } from "../edits/edits.ts";
import {
  callingDrivers,
  movingImports,
  raisingSetting,
  renamingImport,
  renamingOption,
  renamingRouteMethod,
  renamingSetting,
  replacingCalls,
  replacingSetting,
  unlessImported,
} from "./renaming.ts";

/** A version's change that affects applications' code. */
export interface Change {
  /** The old and new forms, for the report. */
  readonly name: string;
  /** The files in which the old form can occur. */
  readonly files: RegExp;
  /** A word that occurs in the old form. Files without it aren't parsed. */
  readonly sign: string;
  readonly edit: Edit;
}

const CODE = /\.ts$|\.js$/;
const AUTH = /^config\/auth\.[tj]s$/;
const API = /^config\/api\.[tj]s$/;
const APP = /^config\/app\.[tj]s$/;

/** All changes that can be made by an edit, oldest first. The others are in `docs/guides/upgrading.md`. */
export const CHANGES: readonly Change[] = [
  moved("ashlar/http", "ashlar"),
  moved("ashlar/routing", "ashlar"),
  setting(AUTH, ["ACCOUNTS"], "verificationExpires", "verificationExpiresInMinutes"),
  setting(AUTH, ["ACCOUNTS"], "verificationExpiresMinutes", "verificationExpiresInMinutes"),
  setting(AUTH, ["ACCOUNTS"], "emailChangeExpires", "emailChangeExpiresInMinutes"),
  setting(AUTH, ["ACCOUNTS"], "emailChangeExpiresMinutes", "emailChangeExpiresInMinutes"),
  setting(API, ["DRIVERS", "*"], "reauthWithin", "reauthWithinMinutes"),
  setting(API, ["DRIVERS", "*"], "clockSkew", "clockSkewSeconds"),
  setting(AUTH, ["GUARDS", "*"], "maxLoginsPerUser", "maxPerUser"),
  {
    name: "maxTokensPerUser of many() is maxPerUser",
    files: CODE,
    sign: "maxTokensPerUser",
    edit: renamingOption({ name: "many", from: "ashlar/api" }, "maxTokensPerUser", "maxPerUser"),
  },
  {
    name: "perUser of personal() is maxPerUser",
    files: CODE,
    sign: "perUser",
    edit: renamingOption({ name: "personal", from: "ashlar/api" }, "perUser", "maxPerUser"),
  },
  {
    name: "SESSION.driver is SESSION.store",
    files: /^config\/session\.[tj]s$/,
    sign: "driver",
    edit: replacingSetting(["SESSION"], "driver", (value) => {
      if (value.type !== "StringLiteral" || !["cookie", "database"].includes(value.value)) return null;
      const name = `${value.value}Sessions`;
      return { text: `store: ${name}()`, name, from: "ashlar/session" };
    }),
  },
  {
    name: "DATABASES has functions instead of names of drivers",
    files: /^config\/database\.[tj]s$/,
    sign: "driver",
    edit: callingDrivers("DATABASES", { sqlite: "ashlar/database", postgres: "ashlar/database" }),
  },
  {
    name: "APP.server.trustProxy is APP.trustedProxies",
    files: APP,
    sign: "trustProxy",
    edit: raisingSetting(["APP", "server"], "trustProxy", "trustedProxies"),
  },
  {
    name: "AuthControllers.forgotPassword is requestPasswordReset, and sessions is logins",
    files: /^app\/controllers\/auth\/index\.[tj]s$/,
    sign: "AuthControllers",
    edit: all(
      renamingSetting(["AuthControllers"], "forgotPassword", "requestPasswordReset"),
      renamingSetting(["AuthControllers"], "sessions", "logins"),
    ),
  },
  {
    name: "answersJson() is respondsWithJson()",
    files: CODE,
    sign: "answersJson",
    edit: renamingRouteMethod("answersJson", "respondsWithJson"),
  },
  {
    name: "whole of ashlar/settings is integer",
    files: CODE,
    sign: "ashlar/settings",
    edit: renamingImport("ashlar/settings", "whole", "integer"),
  },
  calling("ashlar/jwt", "createSigningKey", "new SigningKey"),
  calling("ashlar/jwt", "createVerificationKey", "new VerificationKey"),
  calling("ashlar/client", "createSessionClient", "new SessionClient"),
  calling("ashlar/client", "createTokenClient", "new TokenClient"),
  calling("ashlar/session", "csrfToken", "Csrf.token"),
  {
    name: 'ashlar/mail has no mailbox() and memoryTransport(): write transport: "mailbox" and "memory"',
    files: CODE,
    sign: "ashlar/mail",
    edit: all(unlessImported("mailbox", "ashlar/mail"), unlessImported("memoryTransport", "ashlar/mail")),
  },
  {
    name: "ashlar/database has no Migrations: tests call createTestApplication() of ashlar/testing, which migrates",
    files: CODE,
    sign: "Migrations",
    edit: unlessImported("Migrations", "ashlar/database"),
  },
];

function moved(from: string, to: string): Change {
  return { name: `What ${from} had is in ${to}`, files: CODE, sign: from, edit: movingImports(from, to) };
}

function calling(from: string, before: string, after: string): Change {
  return {
    name: `${before}() of ${from} is ${after}()`,
    files: CODE,
    sign: before,
    edit: replacingCalls({ name: before, from }, after),
  };
}

function setting(files: RegExp, path: readonly [string, ...string[]], before: string, after: string): Change {
  const name = `${[...path, before].join(".")} is ${after}`;
  return { name, files, sign: before, edit: renamingSetting(path, before, after) };
}
