// Two generated applications under two paths of one host, behind a real proxy that keeps one path and removes the
// other.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { COMMAND, edit, execute, generatedApplication, serve } from "../support/generated-application.ts";
import { startProcess } from "../support/long-process.ts";
import { PageVisitor } from "../support/page-visitor.ts";
import { withProgram } from "../support/system-programs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Serves a generated application under a path of a host, and returns its port. */
async function served(url: string, basePath: "kept" | "removed"): Promise<string> {
  const root = await generatedApplication();
  const env = join(root, ".env");
  await writeFile(env, (await readFile(env, "utf8")).replace(/^APP_URL=.*$/m, `APP_URL=${url}`));
  if (basePath === "removed") {
    const line = `url: env("APP_URL"),`;
    await edit(root, "config/app.ts", [line, `${line}\n  server: { basePath: "removed" },`]);
  }
  const { code, output } = await execute(root, process.execPath, [COMMAND, "migrate"]);
  expect(code, output).toBe(0);
  return new URL((await serve(root)).url).port;
}

withProgram("haproxy", () => {
  test("S188 applications at two paths of one host keep their logins separate, behind one proxy", async () => {
    const port = await freePort();
    const url = `http://localhost:${port}`;
    const [shop, blog] = await Promise.all([served(`${url}/shop`, "kept"), served(`${url}/blog`, "removed")]);
    const folder = await temporaryFolder();
    const configuration = `defaults
  mode http
  timeout connect 60s
  timeout client 120s
  timeout server 120s
frontend site
  bind 127.0.0.1:${port}
  bind [::1]:${port}
  use_backend shop if { path_beg /shop/ }
  use_backend blog if { path_beg /blog/ }
backend shop
  server one localhost:${shop}
backend blog
  http-request replace-path /blog(/.*) \\1
  server one localhost:${blog}
`;
    await writeFile(join(folder, "haproxy.cfg"), configuration);
    startProcess(folder, "haproxy", ["-db", "-f", "haproxy.cfg"]);
    const status = async (): Promise<number> => {
      return await fetch(`${url}/shop/up`).then(
        (response) => response.status,
        () => 0,
      );
    };
    await expect.poll(status, { timeout: 120_000 }).toBe(200);

    const visitor = new PageVisitor(url);
    const password = "a password of hers";
    const form = { name: "Ada", email: "ada@example.com", password, password_confirmation: password };
    for (const base of ["/shop", "/blog"]) {
      const page = await visitor.send(`${base}/register`, await visitor.open(`${base}/register`), form);
      expect(page.path).toBe(`${base}/email/verify/notice`);
    }
    for (const base of ["/shop", "/blog"]) {
      const home = await visitor.open(`${base}/home`);
      expect([home.path, home.status]).toEqual([`${base}/home`, 200]);
      const [, style] = / href="([^"]*style\.css[^"]*)"/.exec(home.html)!;
      expect(style).toMatch(`${base}/style.css?v=`);
      expect((await visitor.open(style!)).status).toBe(200);
    }
    await visitor.send("/shop/logout", await visitor.open("/shop/home"), {});
    expect((await visitor.open("/shop/home")).path).toBe("/shop/login");
    expect((await visitor.open("/blog/home")).path).toBe("/blog/home");
  });
});
