import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestClient } from "../../../src/testing/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { checkTypes, edit, generatedApplication } from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";

test("the page's middleware runs where the kernel and the routes say, and wrong arguments fail startup", async () => {
  const root = await generatedApplication();
  await followPage(root, "docs/guides/middleware.md");
  // Neither today nor tomorrow, which may begin before the request.
  const another = ["sun", "mon", "tue"].find((_, day) => ![0, 1].includes((day - new Date().getUTCDay() + 7) % 7))!;
  await edit(root, "routes/web.ts", [
    "export const ROUTES: RouteEntry[] = [",
    `export const ROUTES: RouteEntry[] = [
  Route.get("/always", () => "open").middleware("only:sun,mon,tue,wed,thu,fri,sat"),
  Route.get("/never", () => "open").middleware("only:${another}"),`,
  ]);
  await checkTypes(root);
  const { application, end } = await bootApplication(root);
  const client = createTestClient(application);
  expect((await client.get("/always")).assertHeader("server-timing", /^handler;dur=\d+$/).text).toBe("open");
  (await client.get("/never")).assertStatus(403).assertSee("We are closed today.");
  (await client.get("/nowhere")).assertStatus(404).assertHeader("server-timing");
  await end();
});

test("an argument that the middleware refuses fails startup, with the route's line", async () => {
  const root = await generatedApplication();
  await followPage(root, "docs/guides/middleware.md");
  const routes = join(root, "routes/web.ts");
  const text = await readFile(routes, "utf8");
  await writeFile(routes, text.replace('.name("welcome")', '.name("welcome").middleware("only:noday")'));
  await expect(bootApplication(root)).rejects.toMatchObject({
    message: expect.stringMatching(/routes\/web\.ts:\d+.*"noday" is not a day/s),
  });
});
