import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { MemoryStore } from "../../src/throttle/stores/memory-store.ts";
import { NEW_PASSWORD, PASSWORD } from "../support/account-application.ts";
import { CODE, CREDENTIALS, code, shopWith, target } from "../support/login-steps.ts";

/** A store that takes many turns of the event loop to return or clear attempts, fewer each time. */
class SlowStore extends MemoryStore {
  #turns = 500;
  underway = 0;
  finished = 0;

  override counter(...parts: Parameters<MemoryStore["counter"]>): ReturnType<MemoryStore["counter"]> {
    const counter = super.counter(...parts);
    const slowly = async (work: () => unknown): Promise<void> => {
      this.underway++;
      this.#turns -= 10;
      for (let turn = this.#turns; turn > 0; turn--) await nextTurn();
      await work();
      this.underway--;
      this.finished++;
    };
    return {
      add: (key, cost) => counter.add(key, cost),
      get: (key) => counter.get(key),
      takeBack: (key, cost) => slowly(() => counter.takeBack(key, cost)),
      delete: (key) => slowly(() => counter.delete(key)),
    };
  }
}

test("S53 attempts have been given back when the response is sent, whichever proof a form sent", async () => {
  const store = new SlowStore();
  const buckets = [["account", "address"], ["address"]].map((by) => ({ by, attempts: 20, windowSeconds: 60 }));
  const accounts = await shopWith([], { store, throttle: { login: { account: "email", buckets } }, webSteps: [code] });
  const visitor = accounts.visitor();
  /** Sends a form, and returns where the response redirects, and whether attempts were returned before it. */
  const send = async (path: string, form: object, browser = visitor) => {
    const before = store.finished;
    const [, place] = target(await browser.post(path, form));
    expect([path, store.underway]).toEqual([path, 0]);
    return [place, store.finished > before];
  };
  expect(await send("/login", CREDENTIALS)).toEqual(["/code", true]);
  expect(await send("/code", { code: CODE })).toEqual(["/home", true]);
  expect(await send("/confirm_password", {})).toEqual(["/confirm_password", true]);
  expect(await send("/confirm_password", { password: PASSWORD, code: CODE })).toEqual(["/home", true]);
  expect(await send("/account/email", { email: "ada@new.example", password: PASSWORD })).toEqual(["/home", true]);
  await visitor.post("/logout");
  expect(await send("/login", { ...CREDENTIALS, code: CODE })).toEqual(["/home", true]);
  const token = await accounts.resetToken();
  const reset = { token, password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD };
  expect(await send("/password_reset", reset, accounts.visitor())).toEqual(["/login", true]);
});
