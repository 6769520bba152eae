// The reference of events is compared with the types that features declare, by TypeScript, in a generated application.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkTypes, generatedApplication } from "../../support/generated-application.ts";
import { codeOf, type PageTable, pageTables } from "../../support/page-tables.ts";

const PAGE = "docs/reference/events.md";

/** The members of a payload that a cell lists: `user: User`, `email: string`. */
function membersOf(cell: string): (readonly [name: string, type: string])[] {
  return [...cell.matchAll(/`(\w+): ([^`]+)`/g)].map(([, name, type]) => [name!, type!] as const);
}

function tablesOf(tables: readonly PageTable[], column: string): readonly PageTable[] {
  return tables.filter(({ columns }) => columns[0] === column);
}

/** A type with the payload of each name: what the page says that all of a section have, and its own. */
function recordType(tables: readonly PageTable[], all: readonly PageTable[], common = ""): string {
  const entries = tables.flatMap(({ heading, rows, columns }) => {
    const shared = tablesOf(all, "Member").find((one) => one.heading === heading)?.rows ?? [];
    return rows.map((row) => {
      // Of a member that a row names again, the row has the type.
      const types = new Map([
        ...shared.map(({ Member = "", Type = "" }) => [codeOf(Member), codeOf(Type)] as const),
        ...membersOf(`${common} ${row[columns[2]!]}`),
      ]);
      const members = [...types].map(([name, type]) => `readonly ${name}: ${type};`);
      return `"${codeOf(row[columns[0]!]!)}": { ${members.join(" ")} };`;
    });
  });
  return `{\n  ${entries.join("\n  ")}\n}`;
}

const HEAD = `
import type { HttpContext, HttpRequest, HttpResponse, Translate } from "ashlar";
import type { PersonalTokens, PresentedToken } from "ashlar/api";
import type { Accounts, AccountMailMap, Auth, RemainingTokens } from "ashlar/auth";
import type { EventMap, Events } from "ashlar/events";
import type { JwtError } from "ashlar/jwt";
import type { RequestLoginLinks } from "ashlar/login-links";
import type { RequestPasskeys } from "ashlar/passkeys";
import type {} from "ashlar/two-factor";
import type { Mailer } from "ashlar/mail";
import type { Session } from "ashlar/session";
import type { Limits, Throttle } from "ashlar/throttle";
import type { View } from "ashlar/views";
import type { User } from "./app/models/user.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Plain<T> = { readonly [K in keyof T]: T[K] };
type Records<T> = { readonly [K in keyof T]: Plain<T[K]> };
`;

test("the page lists exactly the events, mails, limits and properties that features declare, with their types", async () => {
  const tables = await pageTables(PAGE);
  const events = recordType(tablesOf(tables, "Event"), tables);
  const mails = recordType(tablesOf(tables, "Mail"), tables, "`user: User`");
  const limits = tablesOf(tables, "Limit").flatMap(({ rows }) => rows.map(({ Limit = "" }) => `"${codeOf(Limit)}"`));
  const properties = tablesOf(tables, "Property").flatMap(({ rows }) =>
    // A type that applications have no name for is described in words.
    rows.map(({ Property = "", Type = "" }) => {
      const name = codeOf(Property);
      return `readonly ${name}: ${codeOf(Type) ?? `HttpContext["${name}"]`};`;
    }),
  );
  expect([limits.length, properties.length]).toEqual([30, 17]);
  const root = await generatedApplication();
  const internal = '"currentUser" | "visitor" | "services" | "startedResponse" | "isReadOnly" | "isLanguageNegotiated"';
  await writeFile(
    join(root, "reference.ts"),
    `${HEAD}
interface Events_ ${events}
interface Mails ${mails}
interface Context { ${properties.join(" ")} }
export const names: Same<keyof EventMap, keyof Events_> = true;
export const payloads: Same<Records<EventMap>, Records<Events_>> = true;
export const mailNames: Same<keyof AccountMailMap, keyof Mails> = true;
export const mailData: Same<Records<AccountMailMap>, Records<Mails>> = true;
export const limits: Same<keyof Limits, ${limits.join(" | ")}> = true;
export const context: Same<Plain<Omit<HttpContext, ${internal}>>, Plain<Context>> = true;
`,
  );
  await checkTypes(root);
});
