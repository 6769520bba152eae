import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { execute, generatedApplication } from "../support/generated-application.ts";

const COMMAND = join(import.meta.dirname, "../../bin/ashlar.js");

test("prune deletes sessions and password resets that have expired, and no others", { timeout: 60_000 }, async () => {
  const root = await generatedApplication();
  await execute(root, process.execPath, [COMMAND, "migrate"]);
  const script = `
    const { default: application } = await import("./app.ts");
    const { kysely } = application.container.make("database");
    const past = new Date(Date.now() - 1000), future = new Date(Date.now() + 60_000);
    for (const [index, expires_at] of [past, past, future].entries()) {
      await kysely.insertInto("sessions").values({
        user_id: 1, guard: "web", token_hash: "t" + index, authenticated_at: past, last_used_at: past, expires_at, created_at: past,
      }).execute();
      await kysely.insertInto("password_resets").values({ email: index + "@example.com", token: "t" + index, created_at: past, expires_at }).execute();
    }
    await application.shutdown();`;
  await writeFile(join(root, "fill.ts"), script);
  expect(await execute(root, process.execPath, ["fill.ts"])).toEqual({ code: 0, output: "" });

  const { code, output } = await execute(root, process.execPath, [COMMAND, "prune"]);
  expect(code).toBe(0);
  expect(output).toContain("sessions: 2 deleted\npassword resets: 2 deleted\n");
  const second = await execute(root, process.execPath, [COMMAND, "prune"]);
  expect(second.output).toContain("sessions: 0 deleted\npassword resets: 0 deleted\n");
});
