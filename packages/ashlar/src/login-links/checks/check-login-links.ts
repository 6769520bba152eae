import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CheckContext } from "../../boot/index.ts";

const LOGIN_PAGE = "views/auth/login.edge";

/** Checks that visitors find the login by mail. Startup makes sure of the rest. */
export async function run({ root, warning }: CheckContext): Promise<void> {
  const page = join(root, LOGIN_PAGE);
  if (!existsSync(page) || /login_links/.test(await readFile(page, "utf8"))) return;
  warning("links.hidden", {
    problem: "The login page has no link to the login by mail.",
    file: LOGIN_PAGE,
    lines: ['<a href="{{ auth.route("login_links") }}">{{ t("login_links.title") }}</a>'],
  });
}
