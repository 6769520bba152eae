// Goes through every generated page and JSON route with an account in every state. The result is a page of the manual,
// which `-u` writes.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DOCS } from "../../../../docs/.vitepress/contents.ts";
import { ACCOUNT_STATES, type AccountState, StateShop } from "../support/account-states.ts";
import { walkJson } from "../support/account-states-json.ts";
import { walkPages } from "../support/account-states-pages.ts";
import { asTable, type StateAnswer } from "../support/account-states-table.ts";

const PAGE = join(DOCS, "reference/account-states.md");

const INTRODUCTION = `---
description: What every generated page and JSON route responds to accounts without a password or an address, and to closed, blocked and other accounts.
---

# States of accounts

How the generated pages and JSON routes respond, by the state of the account. A test walks through all of them with the
forms that the pages show, and with the links that are mailed, and writes this page.

${ACCOUNT_STATES.map(({ name, meaning }) => `- **${name}**: ${meaning}`).join("\n")}

"→" is where a redirect leads; the sentence is the first one that the page then shows as a result or a problem. With a
second guard, the pages under its prefix respond the same.

The requests are those of a browser in which the user had logged in, and confirmed a password if there was one, before the account
came into its state, without the end of logins that may come with it. So a revoked account still passes pages that ask for a password. \`guest:\` marks requests of another browser, in
which no one is logged in. \`x\` in a path stands for a token that was never issued, and "mailed before" for a link that was mailed
before the state began.
`;

/** The responses in each state, for each flavor. */
const walked = new Map<string, StateAnswer[]>();

describe("accounts in every state", { shuffle: false }, () => {
  for (const flavor of ["pages", "json"] as const) {
    describe(`with ${flavor}`, { shuffle: false }, () => {
      let shop: StateShop;
      beforeAll(async () => {
        shop = await StateShop.open(flavor);
      });
      afterAll(() => shop?.close());

      for (const guard of ["web", "admin"] as const) {
        test.for(ACCOUNT_STATES)(
          `S135 $name, guard ${guard}: no failure and no dead end`,
          async (state: AccountState) => {
            const answers = await (flavor === "pages" ? walkPages : walkJson)(shop, guard, state);
            const key = `${flavor} ${guard}`;
            walked.set(key, [...(walked.get(key) ?? []), ...answers]);
            const failures = answers.filter(({ problem }) => problem !== null);
            expect(failures).toEqual([]);
            expect(answers.length).toBeGreaterThan(15);
          },
        );
      }

      test("S135 a second guard's pages, with another model, respond the same", () => {
        const admin = walked.get(`${flavor} admin`)!;
        const shared = new Set(admin.map(({ request }) => request));
        const web = walked.get(`${flavor} web`)!.filter(({ request }) => shared.has(request));
        expect(asTable(admin)).toBe(asTable(web));
      });
    });
  }

  test("S135 the manual lists every page's and JSON route's response in every state", async () => {
    const sections = [
      ["## Pages", "pages web"],
      ["## JSON", "json web"],
    ].map(([title, key]) => `${title}\n\n${asTable(walked.get(key!)!)}`);
    await expect(`${INTRODUCTION}\n${sections.join("\n\n")}\n`).toMatchFileSnapshot(PAGE);
  });
});
