import { expect, test } from "vitest";
import { AccountHashes } from "./account-hashes.ts";

/** Begins what fits at once, and returns how to end it. */
async function occupied(hashes: AccountHashes, account: string): Promise<(() => void)[]> {
  const ends = [await hashes.begin(account, null), await hashes.begin(account, null)];
  return ends.map((end) => end!);
}

test("S133 two hashes of an account run at once, and further ones of unknown devices are refused", async () => {
  const hashes = new AccountHashes();
  const [end] = await occupied(hashes, "ada");
  expect(await hashes.begin("ada", null)).toBeNull();
  expect(await hashes.begin("bob", null)).not.toBeNull();
  end!();
  expect(await hashes.begin("ada", null)).not.toBeNull();
});

test("S133 known devices wait in order, up to two attempts each, and no other attempt comes in between", async () => {
  const hashes = new AccountHashes();
  const [first, second] = await occupied(hashes, "ada");
  const started: string[] = [];
  const waiting = ["laptop", "phone", "laptop", "phone"].map(async (device, index) => {
    const end = await hashes.begin("ada", device);
    started.push(`${device} ${index}`);
    return end!;
  });
  expect(await hashes.begin("ada", "laptop")).toBeNull();
  first!();
  expect(await hashes.begin("ada", null)).toBeNull();
  (await waiting[0]!)();
  second!();
  for (const one of waiting.slice(1)) (await one)();
  expect(started).toEqual(["laptop 0", "phone 1", "laptop 2", "phone 3"]);
});

test("nothing is kept of an account whose hashes have ended", async () => {
  const hashes = new AccountHashes();
  for (let index = 0; index < 100; index++) (await hashes.begin(`account ${index}`, null))!();
  expect(hashes.size).toBe(0);
  const [end] = await occupied(hashes, "ada");
  end!();
  expect(hashes.size).toBe(1);
});
