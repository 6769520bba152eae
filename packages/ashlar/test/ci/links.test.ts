import { join } from "node:path";
import { expect, test } from "vitest";
import { execute } from "../support/generated-application.ts";
import { folderWith } from "../support/temporary-folder.ts";

const SCRIPT = join(import.meta.dirname, "../../../../scripts/check-links.ts");

/** The exit code of the check of links in doc comments, and the broken ones it finds in a file that imports another. */
async function checked(source: string): Promise<[code: number | null, links: string[]]> {
  const guard = "export class Guard { user = null }\nexport class LoginGuard {}\n";
  const folder = folderWith({ "login.ts": source, "guard.ts": guard });
  const { code, output } = await execute(folder, process.execPath, [SCRIPT, folder]);
  return [code, [...output.matchAll(/^login\.ts: (\{@link [^}]*\}) leads/gm)].map(([, link]) => link!)];
}

test("links to names in scope pass", async () => {
  const source = `import type { Guard } from "./guard.ts";

/** See {@link Guard}, {@link Guard.user}, {@link Login.end}, and \`LoginGuard\`. */
export class Login {
  declare guard: Guard;

  /** Like {@link renew}. */
  end(): void {}

  renew(): void {}
}
`;
  expect(await checked(source)).toEqual([0, []]);
});

test("a link to a name that is not in scope, or no longer exists, is found", async () => {
  const source = `import type { Guard } from "./guard.ts";

/** See {@link Guard.attempt} and {@link LoginGuard}. */
export class Login {
  declare guard: Guard;

  /** Like {@link #stop} and {@link restart}. */
  end(): void {}

  #stop(): void {}
}
`;
  const links = ["{@link Guard.attempt}", "{@link LoginGuard}", "{@link #stop}", "{@link restart}"];
  expect(await checked(source)).toEqual([1, links]);
});
