import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { plain } from "../../../test/support/field-errors.ts";
import { TrustedOrigins } from "../../http/index.ts";
import { AshlarError, type Message, setClock } from "../../support/index.ts";
import { Session } from "../index.ts";
import { decodeContents } from "./session-data.ts";

let time = Date.UTC(2030, 0, 1);

beforeEach(() => setClock(() => time));
afterEach(() => setClock(null));

/** The session as it is in the next request. */
function next(session: Session): Session {
  const text = session.encode();
  const { id, createdAt } = session.identity;
  return new Session(text === null ? null : { id, createdAt, contents: decodeContents(text)! });
}

describe("values", () => {
  test("a stored value can be read in this and later requests until it is removed", () => {
    const session = new Session(null)
      .put("cart", { items: [1, 2] })
      .put("visits", 3)
      .put("nothing", null);
    const later = next(next(session));
    expect(later.all()).toEqual({ cart: { items: [1, 2] }, visits: 3, nothing: null });
    expect([later.get("cart"), later.get("visits"), later.get("nothing", "-")]).toEqual([{ items: [1, 2] }, 3, null]);
    expect([later.has("visits"), later.has("nothing"), later.has("gone")]).toEqual([true, true, false]);
    expect([later.get("gone"), later.get("gone", 7)]).toEqual([null, 7]);
    later.forget("visits", "nothing", "gone");
    expect(next(later).all()).toEqual({ cart: { items: [1, 2] } });
  });

  test("pull returns a value and removes it", () => {
    const session = next(new Session(null).put("a", 1));
    expect([session.pull("a", 0), session.pull("a", 0), session.pull("a")]).toEqual([1, 0, null]);
    expect(session.encode()).toBe(null);
  });

  test("flush removes everything but the id", () => {
    const session = next(
      new Session(null)
        .put("a", 1)
        .flash("b", 2)
        .flashErrors({ c: ["no"] }),
    );
    const { id } = session;
    session.flash("d", 4).flush();
    expect([session.all(), session.errors(), session.id]).toEqual([{}, {}, id]);
  });

  test("a key is a plain name, and dots in it have no meaning", () => {
    const session = new Session(null).put("a.b", 1);
    expect([session.get("a"), session.get("a.b")]).toEqual([null, 1]);
  });

  test("values that are read are frozen, in the same request and in later ones", () => {
    const session = new Session(null).put("cart", { items: [1] });
    for (const one of [session, next(session)]) {
      const cart = one.get("cart") as { items: number[] };
      expect(() => cart.items.push(2)).toThrow(TypeError);
    }
  });

  test.each(["toString", "constructor", "__proto__", "prototype", "__old", "__errors"])(
    "S43 %s is not a value",
    (key) => {
      const session = next(
        new Session(null)
          .put("a", 1)
          .flashInput({ b: 2 })
          .flashErrors({ c: ["d"] }),
      );
      expect([session.get(key), session.has(key), session.flashed(key), session.pull(key)]).toEqual([
        null,
        false,
        null,
        null,
      ]);
      expect(session.forget(key).keep(key).old("b")).toBe(2);
    },
  );

  test.each(["", "__mine", "__proto__", "constructor"])("S43 nothing can be put or flashed under %j", (key) => {
    const refused = expect.objectContaining({ code: "E_SESSION", status: 500 });
    expect(() => new Session(null).put(key, 1)).toThrow(refused);
    expect(() => new Session(null).flash(key, 1)).toThrow(refused);
  });

  test("a refused value leaves the previous one in place", () => {
    const session = new Session(null).put("a", 1);
    expect(() => session.put("a", new Date())).toThrow(AshlarError);
    expect(session.get("a")).toBe(1);
  });
});

describe("flash", () => {
  test("a flashed value can be read in this request and the next, but no longer", () => {
    const first = new Session(null).flash("status", "Saved.");
    const second = next(first);
    const third = next(second);
    expect([first, second, third].map((one) => one.get("status"))).toEqual(["Saved.", "Saved.", null]);
    expect([first, second, third].map((one) => one.flashed("status"))).toEqual(["Saved.", "Saved.", null]);
    expect([first, second, third].map((one) => one.has("status"))).toEqual([true, true, false]);
    expect(second.all()).toEqual({ status: "Saved." });
  });

  test("put and flash replace each other's value under the same key", () => {
    const put = new Session(null).flash("a", 1).put("a", 2);
    expect([put.flashed("a"), next(next(put)).get("a")]).toEqual([null, 2]);
    const flashed = new Session(null).put("a", 1).flash("a", 2);
    expect([flashed.get("a"), next(next(flashed)).get("a")]).toEqual([2, null]);
    expect(next(new Session(null).flash("a", 1)).flash("a", 2).get("a")).toBe(2);
  });

  test("reflash keeps everything for another request, keep only the named values", () => {
    const second = next(
      new Session(null)
        .flash("a", 1)
        .flash("b", 2)
        .flashErrors({ c: ["d"] })
        .flashInput({ e: "f" }),
    );
    const kept = next(second.keep("a", "gone"));
    expect([kept.get("a"), kept.get("b"), kept.errors()]).toEqual([1, null, {}]);
    const again = next(
      new Session(null)
        .flash("a", 1)
        .flashErrors({ c: ["d"] })
        .flashInput({ e: "f" }),
    );
    const all = next(again.flash("a", 5).reflash());
    expect([all.get("a"), all.errors(), all.old("e")]).toEqual([5, plain({ c: ["d"] }), "f"]);
    expect(next(all).encode()).toBe(null);
  });

  test("keep does not affect values that are flashed again, values that were never flashed, or the framework's own keys", () => {
    const session = next(
      new Session(null)
        .flash("a", 1)
        .flashErrors({ b: ["c"] })
        .put("d", 2),
    );
    const kept = next(session.flash("a", 3).keep("a", "d", "__errors", "gone"));
    expect([kept.get("a"), kept.flashed("d"), kept.get("d"), kept.has("gone"), kept.errors()]).toEqual([
      3,
      null,
      2,
      false,
      {},
    ]);
  });

  test("keep does nothing for keys that were never flashed", () => {
    const session = new Session(null).keep("gone");
    expect([session.has("gone"), session.encode()]).toEqual([false, null]);
  });

  test("a flashed value is not a stored one", () => {
    const session = new Session(null).put("a", 1);
    expect([session.flashed("a"), session.flashed("a", "-")]).toEqual([null, "-"]);
  });
});

describe("forms", () => {
  test("an error about a flashed value names it", () => {
    const tooDeep = (message: string) => expect.objectContaining({ message: expect.stringContaining(message) });
    const errors = { name: [1n] } as unknown as Record<string, string[]>;
    expect(() => new Session(null).flashErrors(errors)).toThrow(tooDeep(`The session's value "errors.name.0" is of`));
  });

  test("old input can be read in the next request, by name and by path", () => {
    const session = next(new Session(null).flashInput({ name: "Ada", items: [{ name: "nut" }], agree: false }));
    expect(["name", "items.0.name", "agree"].map((name) => session.old(name))).toEqual(["Ada", "nut", false]);
    expect([session.old("gone"), session.old("gone", "x")]).toEqual([null, "x"]);
    expect([session.all(), next(session).old("name")]).toEqual([{}, null]);
  });

  test("S31 passwords are never flashed", () => {
    const text = new Session(null)
      .flashInput({ email: "a@b.example", password: "hunter22", x: { token: "t0" } })
      .encode();
    expect(text).toBe('{"f":{"__old":{"email":"a@b.example","x":{}}}}');
  });

  test("errors can be read in the next request, as a new dictionary", () => {
    const session = next(new Session(null).flashErrors({ email: ["is taken", "is odd"], "": ["try again"] }));
    const errors = session.errors();
    errors.email!.pop();
    expect(session.errors()).toEqual(plain({ email: ["is taken", "is odd"], "": ["try again"] }));
    expect(session.all()).toEqual({});
    expect(Object.getPrototypeOf(errors)).toBe(null);
    expect(next(session).errors()).toEqual({});
  });

  test("errors keep their rule and its parameters, and are translated by the page that shows them", () => {
    const device = { rule: "device.named", params: { browser: "Firefox" }, message: "Firefox" };
    const params = { max: 5, wait: { minutes: 60 }, day: new Date(0), device, name: "Ada" };
    const session = new Session(null).flashErrors({ email: [{ rule: "a.b", params, message: "English." }, "Text."] });
    const { id, createdAt } = session.identity;
    const beginning = { id, createdAt, contents: decodeContents(session.encode()!)! };
    const t = ({ rule, message }: Message) => (rule === null ? message : `${rule} in German`);
    expect(new Session(beginning, () => {}, t).errors()).toEqual({
      email: [
        {
          rule: "a.b",
          params: { ...params, device: { ...device, message: "device.named in German" } },
          message: "a.b in German",
        },
        { rule: null, params: {}, message: "Text." },
      ],
    });
  });

  test("S43 a field that could lead to a prototype has no errors", () => {
    const errors = Object.create(null) as Record<string, string[]>;
    Object.assign(errors, { constructor: ["x"], a: ["y"] });
    Object.defineProperty(errors, "__proto__", { value: ["z"], enumerable: true });
    expect(next(new Session(null).flashErrors(errors)).errors()).toEqual(plain({ a: ["y"] }));
  });
});

describe("the id", () => {
  test("S17 it is 256 random bits", () => {
    const ids = Array.from({ length: 100 }, () => new Session(null).id);
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) expect(Buffer.from(id, "base64url").length).toBe(32);
  });

  test("an empty session is saved only if its id was read", () => {
    const session = new Session(null);
    expect(session.encode()).toBe(null);
    const { id } = session;
    expect(session.encode()).toBe('{"i":1}');
    expect(next(session).id).toBe(id);
  });

  test("S21 it keeps its issue time, however late the session is used", () => {
    const session = new Session(null).put("a", 1);
    const { createdAt } = session.identity;
    time += 60_000;
    expect(next(session).identity.createdAt).toBe(createdAt);
  });

  test("S18 regenerate creates a new id and a new start, and keeps the data", () => {
    const session = next(new Session(null).put("a", 1).flash("b", 2));
    const before = session.id;
    time += 60_000;
    session.regenerate();
    expect(session.id).not.toBe(before);
    expect(session.identity.createdAt).toBe(time);
    expect(session.all()).toEqual({ a: 1, b: 2 });
  });

  test("S19 invalidate removes all data, and the new id alone is not saved", () => {
    const session = next(new Session(null).put("a", 1).flash("b", 2));
    const before = session.id;
    session.flash("c", 3).invalidate();
    expect(session.encode()).toBe(null);
    expect(session.all()).toEqual({});
    expect(session.id).not.toBe(before);
    time += 1000;
    expect(session.invalidate().identity.createdAt).toBe(time);
  });

  test("every change is reported, but reads are not", () => {
    let changes = 0;
    const session = new Session(null, () => {
      changes += 1;
    });
    session.get("a");
    session.has("a");
    session.all();
    session.errors();
    session.old("a");
    session.flashed("a");
    expect(changes).toBe(0);
    const actions: ((session: Session) => unknown)[] = [
      (one) => one.put("a", 1),
      (one) => one.flash("b", 1),
      (one) => one.forget("a"),
      (one) => one.pull("b"),
      (one) => one.keep("b"),
      (one) => one.reflash(),
      (one) => one.flashErrors({}),
      (one) => one.flashInput({}),
      (one) => one.forgetMistakes(),
      (one) => one.flush(),
      (one) => one.regenerate(),
      (one) => one.invalidate(),
      (one) => one.id,
    ];
    for (const [index, action] of actions.entries()) {
      action(session);
      expect(changes).toBe(index + 1);
    }
    expect(session.id).toBe(session.id);
    expect(changes).toBe(actions.length);
  });
});

describe("the page that the visitor wanted", () => {
  test("each guard has its own", () => {
    const session = new Session(null).intend("/orders").intend("/admin/orders", "admin").intend("/desk", "staff");
    expect(session.intended("/", "admin")).toBe("/admin/orders");
    expect(session.intended("/")).toBe("/orders");
    expect(session.intended("/", "staff")).toBe("/desk");
    expect([session.intended("/home", "admin"), session.intended("/home")]).toEqual(["/home", "/home"]);
  });

  test("S29 it may be on a trusted origin, as long as that is trusted", () => {
    const origins = new TrustedOrigins(["https://app.shop.example"]);
    const session = (trusted: TrustedOrigins) => new Session(null, undefined, undefined, trusted);
    const [wanted, other] = ["https://app.shop.example/orders", "https://evil.example/"];
    expect(session(origins).intend(wanted).intended("/home")).toBe(wanted);
    expect(session(origins).intend(other).intended("/home")).toBe("/home");
    expect(session(origins).put("url.intended", other).intended("/home")).toBe("/home");
    expect(session(new TrustedOrigins()).put("url.intended", wanted).intended("/home")).toBe("/home");
  });

  test("it is returned once, and survives a new id", () => {
    const session = next(new Session(null).intend("/orders/7?page=2").regenerate());
    expect([session.intended("/home"), session.intended("/home"), session.intended()]).toEqual([
      "/orders/7?page=2",
      "/home",
      "/",
    ]);
  });

  test.each([
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https://evil.example/",
    "https:evil.example",
    "/%09/evil.example",
    "/%5cevil.example",
    "@evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "/a\r\nset-cookie: x=y",
    `/${"a".repeat(4096)}`,
  ])("S29 %j is replaced with the fallback, however it got there", (path) => {
    const intended = new Session(null).intend(path);
    expect([intended.encode(), intended.intended("/home")]).toEqual([null, "/home"]);
    expect(new Session(null).put("url.intended", path).intended("/home")).toBe("/home");
    expect(new Session(null).put("url.intended", "/orders").intended("/home")).toBe("/orders");
  });
});

test("S163 typed input never makes a session too large: some of it is kept, or none", () => {
  const contents = (items: number) => new Session(null).put("cart", "x".repeat(items));
  const bytes = Buffer.byteLength(contents(100).encode()!);
  for (let more = 0; more < 120; more++) {
    const encoded = contents(100)
      .flashInput({ name: "Ada Lovelace" })
      .encodeWithin(bytes + more)!;
    expect(Buffer.byteLength(encoded), `${more} bytes more`).toBeLessThanOrEqual(bytes + more);
  }
});
