import { describe, expect, test } from "vitest";
import { outputOf } from "../../test/support/own-process.ts";
import { Catalogue, type LanguageFile } from "./catalogue.ts";
import { messagesOf } from "./sentence.ts";

const CART = {
  "cart.empty": "Your cart is empty.",
  "cart.files": { one: "{count} file", other: "{count} files" },
  "cart.expires": "Kept for {lifetime}, until {end}, by {owner}.",
  "cart.owner": "the shop of {name}",
} as const;

const GERMAN = {
  "cart.empty": "Ihr Warenkorb ist leer.",
  "cart.files": { one: "{count} Datei", other: "{count} Dateien" },
  "cart.expires": "Aufbewahrt für {lifetime}, bis {end}, von {owner}.",
  "cart.owner": "dem Laden von {name}",
} as const;

const message = messagesOf(CART);

/** A catalogue with a cart's sentences. If German is offered, it is loaded too. */
function withCart(language: string, languages: readonly string[]): { catalogue: Catalogue; loaded: string[] } {
  const loaded: string[] = [];
  const catalogue = new Catalogue(language, languages);
  catalogue.declare(CART, {
    de: () => {
      loaded.push("de");
      return Promise.resolve({ MESSAGES: GERMAN });
    },
  });
  return { catalogue, loaded };
}

async function loaded(language: string, languages: readonly string[], ...files: LanguageFile[]): Promise<Catalogue> {
  const { catalogue } = withCart(language, languages);
  await catalogue.load(files);
  return catalogue;
}

const file = (language: string, sentences: Readonly<Record<string, unknown>>): LanguageFile => {
  return { file: `lang/${language}.ts`, language, sentences };
};

describe("messages", () => {
  test("have a key, parameters and the English text", () => {
    expect(message("cart.files", { count: 1200 })).toEqual({
      rule: "cart.files",
      params: { count: 1200 },
      message: "1,200 files",
    });
  });

  test("can be nested", () => {
    const owner = message("cart.owner", { name: "Ada" });
    const end = new Date("2026-01-31T15:04:00Z");
    const said = message("cart.expires", { lifetime: { minutes: 2880 }, end, owner });
    expect(said.message).toBe("Kept for 2 days, until January 31, 2026 at 3:04 PM UTC, by the shop of Ada.");
  });

  test.each([
    [{ bytes: 1 }, "1 byte"],
    [{ bytes: 500 }, "500 bytes"],
    [{ bytes: 1536 }, "1.5 kB"],
    [{ bytes: 33_554_432 }, "32 MB"],
    // A limit must not be rounded up.
    [{ bytes: 33_554_431 }, "31.9 MB"],
    [{ bytes: 20 * 1024 ** 3 }, "20 GB"],
    [{ bytes: 3000 * 1024 ** 4 }, "3,000 TB"],
    [{ bytes: 1, minutes: 2 }, '{"bytes":1,"minutes":2}'],
    [{ minutes: 1 }, "1 minute"],
    [{ minutes: 90 }, "90 minutes"],
    [{ minutes: 60 }, "1 hour"],
    [{ minutes: 1440 }, "24 hours"],
    [{ minutes: 4320 }, "3 days"],
    [{ seconds: 59 }, "59 seconds"],
    [{ seconds: 0 }, "0 seconds"],
    [{ seconds: 120 }, "120 seconds"],
  ])("a duration uses the largest unit that fits: %j is %s", (lifetime, expected) => {
    const said = message("cart.expires", { lifetime, end: "later", owner: "us" });
    expect(said.message).toBe(`Kept for ${expected}, until later, by us.`);
  });

  test("a value's text is never a placeholder", () => {
    expect(message("cart.owner", { name: "{name} $& {count}" }).message).toBe("the shop of {name} $& {count}");
  });
});

describe("a language", () => {
  test("has its own messages, plurals, numbers, dates and durations", async () => {
    const t = (await loaded("en", ["de"])).translator("de");
    const owner = message("cart.owner", { name: "Ada" });
    const end = new Date("2026-01-31T15:04:00Z");
    expect([
      t(message("cart.empty")),
      t(message("cart.files", { count: 1 })),
      t(message("cart.files", { count: 1200 })),
      t(message("cart.expires", { lifetime: { minutes: 2880 }, end, owner })),
    ]).toEqual([
      "Ihr Warenkorb ist leer.",
      "1 Datei",
      "1.200 Dateien",
      "Aufbewahrt für 2 Tage, bis 31. Januar 2026 um 15:04 UTC, von dem Laden von Ada.",
    ]);
  });

  test("is loaded only if it is offered", async () => {
    const { catalogue, loaded } = withCart("en", []);
    await catalogue.load();
    expect([loaded, catalogue.translator("de")(message("cart.empty"))]).toEqual([[], "Your cart is empty."]);
  });

  test("falls back to a wider one, the default language and finally English", async () => {
    const catalogue = await loaded(
      "de",
      ["de-AT", "fr"],
      file("de", { "app.hello": "Hallo" }),
      file("de-AT", { "cart.empty": "Ihr Wagerl ist leer." }),
      file("fr", { "cart.files": "Fichiers" }),
    );
    const all = (language: string) => {
      const t = catalogue.translator(language);
      return [t(message("cart.empty")), t(message("cart.files", { count: 2 })), t("app.hello")];
    };
    expect(all("de-AT")).toEqual(["Ihr Wagerl ist leer.", "2 Dateien", "Hallo"]);
    expect(all("fr")).toEqual(["Ihr Warenkorb ist leer.", "Fichiers", "Hallo"]);
  });

  test("is the user's, if it is offered", async () => {
    const catalogue = await loaded("en", ["de"]);
    const of = (language: unknown) => catalogue.ofUser({ language });
    expect([of("de"), of("de-CH"), of("fr"), of(""), of(null), of(7)]).toEqual(["de", "de", null, null, null, null]);
    expect([catalogue.ofUser({}), catalogue.ofUser(null)]).toEqual([null, null]);
    expect([of(`de-${"a-".repeat(5000)}b`), of(`${"es,".repeat(5000)}de`)]).toEqual([null, null]);
  });

  test("a message without a sentence is used as it is", async () => {
    const t = (await loaded("en", ["de"])).translator("de");
    expect(t({ rule: "too_small", params: {}, message: "Too small." })).toBe("Too small.");
    expect(t({ rule: null, params: {}, message: "As it is." })).toBe("As it is.");
  });
});

describe("t.message()", () => {
  test("makes a message in English, which t() translates", async () => {
    const t = (await loaded("en", ["de"])).translator("de");
    const made = t.message("cart.files" as "app.files", { count: 2 });
    expect(made).toEqual({ rule: "cart.files", params: { count: 2 }, message: "2 files" });
    expect([t(made), Object.isFrozen(made)]).toEqual(["2 Dateien", true]);
  });

  test("uses an application's own sentence in its default language, and its own wording of others in English", async () => {
    const files = [file("de", { "app.hello": "Hallo, {name}" }), file("en", { "cart.empty": "Nothing in here." })];
    const t = (await loaded("de", ["en"], ...files)).translator("en");
    expect(t.message("app.hello", { name: "Ada" }).message).toBe("Hallo, Ada");
    expect(t.message("cart.empty" as "app.empty").message).toBe("Nothing in here.");
  });

  test("throws an error with suggestions for an unknown key", async () => {
    const t = (await loaded("en", [], file("en", { "app.hello": "Hello, {name}" }))).translator("en");
    expect(() => t.message("app.helo")).toThrow('There is no sentence "app.helo". Did you mean "app.hello"?');
  });
});

describe("an application's sentences", () => {
  test("replace those of features, in English too", async () => {
    const t = (await loaded("en", [], file("en", { "cart.empty": "Nothing in here." }))).translator("en");
    expect(t(message("cart.empty"))).toBe("Nothing in here.");
  });

  test("an unknown key is an error with suggestions", async () => {
    const t = (await loaded("en", [], file("en", { "app.hello": "Hello, {name}" }))).translator("en");
    expect(t("app.hello", { name: "Ada" })).toBe("Hello, Ada");
    expect(() => t("app.helo")).toThrow('There is no sentence "app.helo". Did you mean "app.hello"?');
  });
});

describe("the boot fails", () => {
  test("with a key that is declared twice", () => {
    const { catalogue } = withCart("en", []);
    expect(() => catalogue.declare({ "cart.empty": "Empty." })).toThrow('The message "cart.empty" is declared twice.');
  });

  test.each<[string, LanguageFile, string]>([
    [
      "a misspelled key",
      file("en", { "cart.emtpy": "…" }),
      'lang/en.ts: MESSAGES["cart.emtpy"]: is not a message. Did you mean "cart.empty"?',
    ],
    [
      "a key that is not like any other",
      file("en", { unheard_of_and_longer: "…" }),
      'MESSAGES["unheard_of_and_longer"]: is not a message. Begin the keys of your own sentences with "app."',
    ],
    [
      "a new sentence that the default language lacks",
      file("de", { "app.hello": "Hallo" }),
      'lang/de.ts: MESSAGES["app.hello"]: is not a message of lang/en.ts, the default language. Add it there.',
    ],
    [
      "an unknown placeholder",
      file("de", { "cart.owner": "{nmae}" }),
      'lang/de.ts: MESSAGES["cart.owner"]: has an unknown placeholder {nmae}. Did you mean "name"?',
    ],
    [
      "a placeholder in a sentence without any",
      file("en", { "cart.empty": "{count}" }),
      'MESSAGES["cart.empty"]: has an unknown placeholder {count}. It has none.',
    ],
    [
      "a value that is not a sentence",
      file("en", { "cart.empty": { some: "…" } }),
      'MESSAGES["cart.empty"]: is not a sentence. Write text, or { one: "…", other: "…" }.',
    ],
    [
      "plural forms without the form that all languages need",
      file("en", { "cart.empty": { one: "…" } }),
      'MESSAGES["cart.empty"]: lacks the plural form "other". Write text, or { one: "…", other: "…" }.',
    ],
    [
      "null as a sentence",
      file("en", { "cart.empty": null }),
      'MESSAGES["cart.empty"]: is not a sentence. Write text, or { one: "…", other: "…" }.',
    ],
  ])("with %s", async (_, given, expected) => {
    await expect(loaded("en", ["de"], given)).rejects.toThrow(expected);
  });

  test("with a language that has no sentences, unless it is English", async () => {
    await expect(new Catalogue("en", ["en-GB"]).load()).resolves.toBeUndefined();
    const expected = 'config/app.ts: APP.languages: offers "fr", which has no sentences. Add lang/fr.ts';
    await expect(loaded("en", ["fr"])).rejects.toThrow(expected);
  });
});

// Runs in a separate process, to have a heap with nothing else in it.
test("the next minor garbage collection frees translators and the requests they hold", async () => {
  const megabytesKept = await outputOf(`
import { Catalogue } from ${JSON.stringify(new URL("catalogue.ts", import.meta.url))};
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
const catalogue = new Catalogue("en");
catalogue.declare({ "cart.empty": "Your cart is empty." });
function megabytesKept(requests) {
  collect({ type: "major" });
  const before = process.memoryUsage().heapUsed;
  for (let count = 0; count < requests; count++) {
    // The thousand numbers stand for a request's data.
    const held = Array.from({ length: 1000 }, Math.random);
    const t = catalogue.translator(() => (held.length > 0 ? "en" : "de"));
    if (typeof t.message !== "function" || t("cart.empty") !== "Your cart is empty.") throw new Error("It differs.");
  }
  for (let time = 0; time < 3; time++) collect({ type: "minor" });
  return (process.memoryUsage().heapUsed - before) / 2 ** 20;
}
megabytesKept(10);
console.log(megabytesKept(2000));
`);
  expect(Number(megabytesKept)).toBeLessThan(1);
});

describe("languages of an application", () => {
  const file = (language: string, sentences: LanguageFile["sentences"]): LanguageFile => {
    return { file: `lang/${language}.ts`, language, sentences };
  };

  test("are checked against the default one, in whatever order their files are read", async () => {
    const [en, fr] = [file("en", { "app.hello": "Hello." }), file("fr", { "app.hello": "Bonjour." })];
    for (const files of [
      [en, fr],
      [fr, en],
    ]) {
      const catalogue = await loaded("fr", ["en"], ...files);
      expect(catalogue.translator("en")("app.hello")).toBe("Hello.");
    }
  });

  test("have the framework's sentences of their wider tag", async () => {
    const catalogue = await loaded("en", ["de-AT"]);
    expect(catalogue.translator("de-AT")("cart.empty" as never)).toBe("Ihr Warenkorb ist leer.");
  });

  test("use the form `other` if a sentence has no form for a count", async () => {
    const catalogue = await loaded("en", ["de"], file("de", { "cart.files": { other: "{count} Dateien" } }));
    expect(catalogue.translator("de")("cart.files" as "app.files", { count: 1 })).toBe("1 Dateien");
  });

  test("may name the count of a sentence with forms, even if the original doesn't", async () => {
    const catalogue = new Catalogue("en", ["de"]);
    catalogue.declare({ "cart.some": { one: "a file", other: "files" } });
    await catalogue.load([file("de", { "cart.some": "{count} Dateien" })]);
    expect(catalogue.translator("de")("cart.some" as "app.files", { count: 2 })).toBe("2 Dateien");
  });

  test("make startup fail with an unknown plural form", async () => {
    const sentences = { "cart.files": { other: "{count} Dateien", on: "{count} Datei" } };
    await expect(loaded("en", ["de"], file("de", sentences))).rejects.toThrow("is not a sentence.");
  });
});

describe("a feature's translation", () => {
  const HOURS = { "hours.open": "Open until {time}." } as const;

  function withHours(german: Readonly<Record<string, unknown>>): Promise<void> {
    const { catalogue } = withCart("en", ["de"]);
    catalogue.declare(HOURS, { de: async () => ({ MESSAGES: german as never }) });
    return catalogue.load();
  }

  test("may have its own sentences, and those of its error codes", async () => {
    const german = {
      "hours.open": "Bis {time} geöffnet.",
      "errors.E_CLOSED": "Geschlossen.",
      "errors.page.E_CLOSED": "Hier ist gerade geschlossen.",
    };
    await expect(withHours(german)).resolves.toBeUndefined();
  });

  test.each([
    [
      "another feature's sentence",
      "cart.empty",
      "Leer.",
      "is translated by another feature. Leave it out, or put it in lang/.",
    ],
    ["a key that only begins like an error code's", "errors.other", "Anderes.", "is not a message. "],
    ["a misspelled key", "hours.opn", "Offen.", 'is not a message. Did you mean "hours.open"?'],
    ["a misspelled placeholder", "hours.open", "Bis {zeit}.", 'has an unknown placeholder {zeit}. Known are "time".'],
    ["no text", "hours.open", 7, 'is not a sentence. Write text, or { one: "…", other: "…" }.'],
  ])("with %s fails", async (_, key, sentence, problem) => {
    await expect(withHours({ [key]: sentence })).rejects.toThrow(
      `A feature's sentences in "de": MESSAGES["${key}"]: ${problem}`,
    );
  });
});
