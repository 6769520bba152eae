import { createHook } from "node:async_hooks";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import { createProject } from "../making/project.ts";
import { planUpgrade } from "./plan-upgrade.ts";

test("the plan of an upgrade reads files a few times each, however many applications it compares with", async () => {
  const { root } = await createProject({
    folder: join(folderWith({}), "shop"),
    ...({ pages: true, api: true, database: "sqlite" } as const),
  });
  const { files } = await planUpgrade(root);
  expect(files).toEqual([]);
  // The stubs have now been read, so only each plan's own work is counted.
  let operations = 0;
  const counting = createHook({
    init(_id, type) {
      if (type.startsWith("FSREQ")) operations++;
    },
  }).enable();
  await planUpgrade(root);
  counting.disable();
  // About a hundred files are copied and read twice. Listing the stubs for each application would take twice as many.
  expect(operations).toBeGreaterThan(100);
  expect(operations).toBeLessThan(800);
});
