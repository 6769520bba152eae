// What the guide about cryptography says of rotating the application key.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { expect, test } from "vitest";
import { Signer } from "../../../src/public/security.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { ashlar } from "../../support/command-line.ts";
import { generatedApplication } from "../../support/generated-application.ts";

test("after a rotation, new values use the new key, and values of the five newest keys are accepted", async () => {
  const root = await generatedApplication({ api: false, pages: false });
  const read = async () => parseEnv(await readFile(join(root, ".env"), "utf8"));
  const keys = [(await read()).APP_KEY!];
  for (let count = 1; count <= 6; count++) {
    expect(await ashlar(root, "key:generate", "--rotate")).toMatchObject({ code: 0 });
    keys.unshift((await read()).APP_KEY!);
  }
  const { APP_KEY, APP_PREVIOUS_KEYS } = await read();
  expect(APP_PREVIOUS_KEYS?.split(",")).toEqual(keys.slice(1, 6));
  const { application, end } = await bootApplication(root, { environment: { APP_KEY: APP_KEY! } });
  try {
    const { key, previousKeys: previousSecrets } = application.settings;
    const signer = new Signer(key, "invitation", { previousSecrets });
    const accepted = keys.map((one) => signer.verify(new Signer(one, "invitation").sign("ada@example.com")));
    expect(accepted).toEqual([...Array(6).fill("ada@example.com"), null]);
    expect(new Signer(APP_KEY!, "invitation").verify(signer.sign("ada@example.com"))).toBe("ada@example.com");
  } finally {
    await end();
  }
});
