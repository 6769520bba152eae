import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary-folder.ts";
import { generateSecret } from "../../security/index.ts";
import { promoteKey, rotateKey, stageKey } from "./rotate-key.ts";

const [OLD, NEW] = [generateSecret(), generateSecret()];

async function envFile(text: string): Promise<string> {
  const path = join(await temporaryFolder(), ".env");
  await writeFile(path, text);
  return path;
}

/** The content of a file after its key is replaced with {@link NEW}. */
async function rotated(text: string): Promise<string> {
  const path = await envFile(text);
  expect(await rotateKey(path, NEW)).toBe(true);
  return readFile(path, "utf8");
}

describe("rotating", () => {
  test("S12 the old key is put before the previous keys, and every line keeps its place", async () => {
    const before = `# mine\nA=1\nAPP_KEY=${OLD}\n\nB="two # three"\nAPP_PREVIOUS_KEYS=first, second,,\n# end`;
    const after = `# mine\nA=1\nAPP_KEY=${NEW}\n\nB="two # three"\nAPP_PREVIOUS_KEYS=${OLD},first,second\n# end`;
    expect(await rotated(before)).toBe(after);
  });

  test("a missing line for previous keys is added at the end", async () => {
    expect(await rotated(`APP_KEY="${OLD}"\nA=1`)).toBe(`APP_KEY=${NEW}\nA=1\nAPP_PREVIOUS_KEYS=${OLD}\n`);
  });

  test("Windows line endings are kept", async () => {
    expect(await rotated(`APP_KEY=${OLD}\r\nAPP_PREVIOUS_KEYS=\r\nA=1\r\n`)).toBe(
      `APP_KEY=${NEW}\r\nAPP_PREVIOUS_KEYS=${OLD}\r\nA=1\r\n`,
    );
  });

  test("S12 the newest 5 previous keys are kept", async () => {
    const path = await envFile("");
    const keys: string[] = Array.from({ length: 8 }, () => generateSecret());
    await writeFile(path, `APP_KEY=${keys[0]}\n`);
    for (const key of keys.slice(1)) await rotateKey(path, key);
    const [current, ...previous] = keys.toReversed();
    expect({ ...parseEnv(await readFile(path, "utf8")) }).toEqual({
      APP_KEY: current,
      APP_PREVIOUS_KEYS: previous.slice(0, 5).join(","),
    });
  });

  test("a key that is already a previous one is listed once", async () => {
    expect(await rotated(`APP_KEY=${OLD}\nAPP_PREVIOUS_KEYS=other,${OLD}\n`)).toBe(
      `APP_KEY=${NEW}\nAPP_PREVIOUS_KEYS=${OLD},other\n`,
    );
  });

  test("a passphrase with spaces is kept", async () => {
    const phrase = "correct horse battery staple wow";
    expect(await rotated(`APP_KEY="${phrase}"\n`)).toBe(`APP_KEY=${NEW}\nAPP_PREVIOUS_KEYS=${phrase}\n`);
  });

  test("S12 only the owner can read the file, and no other file remains", async () => {
    const path = await envFile(`APP_KEY=${OLD}\n`);
    await rotateKey(path, NEW);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(dirname(path))).toEqual([".env"]);
  });

  test("S12 if several keys are set at the same time, no key is lost and no lock remains", async () => {
    const path = await envFile(`APP_KEY=${OLD}\n`);
    const keys = Array.from({ length: 4 }, () => generateSecret());
    expect(await Promise.all(keys.map((key) => rotateKey(path, key)))).toEqual([true, true, true, true]);
    const { APP_KEY, APP_PREVIOUS_KEYS } = parseEnv(await readFile(path, "utf8"));
    expect(`${APP_KEY},${APP_PREVIOUS_KEYS}`.split(",").sort()).toEqual([OLD, ...keys].sort());
    expect(await readdir(dirname(path))).toEqual([".env"]);
  });

  test("a stale lock is named, and nothing is written", async () => {
    const path = await envFile(`APP_KEY=${OLD}\n`);
    // Larger than any process id on Linux.
    await writeFile(`${path}.lock`, "4194305");
    await expect(rotateKey(path, NEW)).rejects.toMatchObject({
      code: "E_COMMAND",
      message: `${path} was not changed: process 4194305 has locked it. If that process has exited, remove ${path}.lock and run the command again.`,
    });
    expect(await readFile(path, "utf8")).toBe(`APP_KEY=${OLD}\n`);
  });

  test("S12 readers always see a complete file while the key is rotated", async () => {
    const path = await envFile(`A=${"x".repeat(500_000)}\nAPP_KEY=${OLD}\nB=1\n`);
    let isDone = false;
    const reading = (async () => {
      const texts: string[] = [];
      while (!isDone) texts.push(await readFile(path, "utf8"));
      return texts;
    })();
    for (let count = 0; count < 20; count++) await rotateKey(path, generateSecret());
    isDone = true;
    const whole = /^A=x{500000}\nAPP_KEY=[\w-]{86}\nB=1\n(APP_PREVIOUS_KEYS=[\w,-]{86,}\n)?$/;
    expect((await reading).filter((text) => !whole.test(text))).toEqual([]);
  });
});

describe("without an old key", () => {
  test.each(["", "APP_KEY=\n", "# APP_KEY=old\n", 'APP_KEY=""\nAPP_PREVIOUS_KEYS=first\n'])(
    "nothing is written: %j",
    async (text) => {
      const path = await envFile(text);
      expect(await rotateKey(path, NEW)).toBe(false);
      expect(await readFile(path, "utf8")).toBe(text);
    },
  );

  test("no file is created", async () => {
    const folder = await temporaryFolder();
    expect(await rotateKey(join(folder, ".env"), NEW)).toBe(false);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("S12 a file whose key cannot be kept is not changed, and the error shows no key", () => {
  const BY_HAND =
    ".env was not changed. APP_KEY, APP_NEXT_KEY or APP_PREVIOUS_KEYS is set twice, spans several lines, or contains a # " +
    "or quotes. Edit these lines by hand.";

  test.each([
    ["a key that is set twice", `APP_KEY=${NEW.slice(1)}\nAPP_KEY=${OLD}\n`, BY_HAND],
    ["previous keys that are set twice", `APP_KEY=${OLD}\nAPP_PREVIOUS_KEYS=\nAPP_PREVIOUS_KEYS=a\n`, BY_HAND],
    ["a key over several lines", `APP_KEY="${OLD}\n${OLD}x"\n`, BY_HAND],
    ["previous keys over several lines", `APP_KEY=${OLD}\nAPP_PREVIOUS_KEYS="one,\ntwo"\n`, BY_HAND],
    ["a key with a #", `APP_KEY="${OLD}#1"\n`, BY_HAND],
    ["a multi-line value that seems to contain the key", `A="\nAPP_KEY=1\n"\nAPP_KEY=${OLD}\n`, BY_HAND],
    [
      "a key with a comma",
      `APP_KEY=${OLD},1\n`,
      ".env was not changed. APP_KEY contains a comma, which separates the keys in APP_PREVIOUS_KEYS. Add it to " +
        "APP.previousKeys in config/app.ts, clear its value in .env, and run: npx ashlar key:generate",
    ],
    [
      "a weak key",
      "APP_KEY=secretsecretsecretsecretsecretsecret\n",
      ".env was not changed. The secret in APP_KEY is not random. No application accepts it as a previous key. Clear " +
        "its value and run: npx ashlar key:generate",
    ],
  ])("S12 %s", async (_, text, message) => {
    const path = await envFile(text);
    await expect(rotateKey(path, NEW)).rejects.toMatchObject({ code: "E_COMMAND", message });
    expect(await readFile(path, "utf8")).toBe(text);
    expect(await readdir(dirname(path))).toEqual([".env"]);
  });
});

describe("in two steps", () => {
  const keysIn = async (path: string) => ({ ...parseEnv(await readFile(path, "utf8")) });

  test("S12 staging writes only the next key, and promoting makes it the current one", async () => {
    const path = await envFile(`# mine\nAPP_KEY=${OLD}\nAPP_PREVIOUS_KEYS=first\nAPP_NEXT_KEY=\nA=1\n`);
    expect(await stageKey(path, NEW)).toBe(true);
    expect(await readFile(path, "utf8")).toBe(
      `# mine\nAPP_KEY=${OLD}\nAPP_PREVIOUS_KEYS=first\nAPP_NEXT_KEY=${NEW}\nA=1\n`,
    );
    expect(await promoteKey(path)).toBe(true);
    expect(await readFile(path, "utf8")).toBe(
      `# mine\nAPP_KEY=${NEW}\nAPP_PREVIOUS_KEYS=${OLD},first\nAPP_NEXT_KEY=\nA=1\n`,
    );
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("S12 a file of an earlier version gets the line it lacks", async () => {
    const path = await envFile(`APP_KEY=${OLD}\n`);
    await stageKey(path, NEW);
    expect(await keysIn(path)).toEqual({ APP_KEY: OLD, APP_NEXT_KEY: NEW });
    await promoteKey(path);
    expect(await keysIn(path)).toEqual({ APP_KEY: NEW, APP_NEXT_KEY: "", APP_PREVIOUS_KEYS: OLD });
  });

  test("S12 a staged key is never overwritten: some processes may already use it", async () => {
    const path = await envFile(`APP_KEY=${OLD}\nAPP_NEXT_KEY=${NEW}\n`);
    const message =
      ".env was not changed. APP_NEXT_KEY already holds a staged key. Once every process runs with it, run: " +
      "npx ashlar key:generate --promote. If the keys have leaked, so has this one: empty APP_NEXT_KEY, and run this again.";
    for (const change of [stageKey, rotateKey]) {
      await expect(change(path, generateSecret())).rejects.toMatchObject({ code: "E_COMMAND", message });
    }
    expect(await keysIn(path)).toEqual({ APP_KEY: OLD, APP_NEXT_KEY: NEW });
  });

  test.each([
    ["", "APP_NEXT_KEY is empty: no key is staged. Run: npx ashlar key:generate --rotate --stage"],
    ["hunter2", "The secret in APP_NEXT_KEY is shorter than 32 bytes. Clear its value and stage another key."],
  ])("S12 promoting %j is refused, and nothing is written", async (staged, message) => {
    const path = await envFile(`APP_KEY=${OLD}\nAPP_NEXT_KEY=${staged}\n`);
    await expect(promoteKey(path)).rejects.toMatchObject({ message: `.env was not changed. ${message}` });
    expect(await keysIn(path)).toEqual({ APP_KEY: OLD, APP_NEXT_KEY: staged });
  });

  test("S12 a key that cannot be kept is refused when another is staged, not only when that is promoted", async () => {
    const path = await envFile("APP_KEY=hunter2\n");
    await expect(stageKey(path, NEW)).rejects.toMatchObject({
      message: expect.stringContaining("The secret in APP_KEY is shorter than 32 bytes."),
    });
  });

  test("without an old key, nothing is written", async () => {
    const path = await envFile("APP_KEY=\n");
    expect([await stageKey(path, NEW), await promoteKey(path)]).toEqual([false, false]);
    expect(await keysIn(path)).toEqual({ APP_KEY: "" });
  });
});
