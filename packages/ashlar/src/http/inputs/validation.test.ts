import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { plain, sentencesIn } from "../../../test/support/field-errors.ts";
import { type Message, ValidationError } from "../../support/index.ts";
import { parseForm } from "../bodies/form-parser.ts";
import { parseJson } from "../bodies/json-parser.ts";
import { validateInput } from "./validation.ts";

const order = parseJson(
  Buffer.from('{"email":"a@b.example","address":{"city":"Ulm"},"items":[{"sku":"x","n":2}],"tags":{"k":"v"}}'),
  64,
  100,
);
const broken = parseJson(
  Buffer.from('{"email":"nope","address":{},"items":[{"sku":"x","n":2},{"sku":1}],"tags":{"k":1}}'),
  64,
  100,
);

const zodOrder = z.object({
  email: z.email("Not an address."),
  address: z.object({ city: z.string("City is missing.") }),
  items: z.array(z.object({ sku: z.string("No text."), n: z.number("No number.") })),
  tags: z.record(z.string(), z.string("No text.")),
});

const valibotOrder = v.object({
  email: v.pipe(v.string(), v.email("Not an address.")),
  address: v.object({ city: v.string("City is missing.") }, "City is missing."),
  items: v.array(v.object({ sku: v.string("No text."), n: v.number("No number.") }, "No number.")),
  tags: v.record(v.string(), v.string("No text.")),
});

describe.each([
  ["zod", zodOrder],
  ["valibot", valibotOrder],
])("%s", (_, schema: StandardSchemaV1) => {
  test("accepts dictionaries without a prototype at every level", async () => {
    expect(await validateInput(schema, order)).toEqual({
      email: "a@b.example",
      address: { city: "Ulm" },
      items: [{ sku: "x", n: 2 }],
      tags: { k: "v" },
    });
  });

  test("reports all problems at once, by field", async () => {
    const failure = await validateInput(schema, broken).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ValidationError);
    expect(failure).toMatchObject({ code: "E_INVALID_INPUT", status: 422 });
    expect(sentencesIn((failure as ValidationError).extensions)).toEqual({
      email: ["Not an address."],
      "address.city": ["City is missing."],
      "items.1.sku": ["No text."],
      "items.1.n": ["No number."],
      "tags.k": ["No text."],
    });
  });
});

test("the caller gets coerced, defaulted and transformed values, typed", async () => {
  const schema = z.object({
    age: z.coerce.number().int(),
    role: z.string().default("guest"),
    name: z.string().transform((name) => name.trim()),
  });
  const result = await validateInput(schema, parseForm("age=42&name=+Ann+", 10, "E_INVALID_BODY"));
  expectTypeOf(result).toEqualTypeOf<{ age: number; role: string; name: string }>();
  expect(result).toEqual({ age: 42, role: "guest", name: "Ann" });
});

test("an asynchronous schema is awaited", async () => {
  const free = async (name: string) => name !== "taken";
  const withZod = z.object({ name: z.string().refine(free, "Taken.") });
  const withValibot = v.objectAsync({ name: v.pipeAsync(v.string(), v.checkAsync(free, "Taken.")) });
  for (const schema of [withZod, withValibot]) {
    expect(await validateInput(schema, { name: "new" })).toEqual({ name: "new" });
    await expect(validateInput(schema, { name: "taken" })).rejects.toMatchObject({
      errors: { name: [{ message: "Taken." }] },
    });
  }
});

test("a problem of the whole input is under the empty name, and several problems of one field are in order", async () => {
  const schema = z
    .object({ password: z.string().min(8, "Too short.").regex(/\d/, "No digit."), again: z.string() })
    .refine(() => false, "They differ.");
  await expect(validateInput(schema, { password: "x", again: "y" })).rejects.toMatchObject({
    errors: { password: [{ message: "Too short." }, { message: "No digit." }] },
  });
  await expect(validateInput(schema, { password: "long enough 1", again: "y" })).rejects.toMatchObject({
    errors: { "": [{ message: "They differ." }] },
  });
});

test("paths of segment objects, numbers and symbols become dotted names", async () => {
  const issues = [{ message: "m", path: [{ key: "a" }, 0, { key: Symbol("s") }, "b"] }, { message: "n" }];
  const schema: StandardSchemaV1 = { "~standard": { version: 1, vendor: "test", validate: () => ({ issues }) } };
  await expect(validateInput(schema, {})).rejects.toMatchObject({
    errors: plain({ "a.0.Symbol(s).b": ["m"], "": ["n"] }),
  });
});

test("S43 a problem at a field named __proto__ reaches no prototype", async () => {
  const issues = [{ message: "m", path: ["__proto__"] }];
  const schema: StandardSchemaV1 = { "~standard": { version: 1, vendor: "test", validate: () => ({ issues }) } };
  const failure: ValidationError = await validateInput(schema, {}).then(
    () => expect.unreachable(),
    (error) => error,
  );
  expect(JSON.stringify(failure.extensions)).toBe('{"errors":{"__proto__":[{"rule":null,"params":{},"message":"m"}]}}');
});

test("an error thrown by a schema is passed on", async () => {
  const schema = z.object({
    a: z.string().transform((): string => {
      throw new RangeError("bug");
    }),
  });
  await expect(validateInput(schema, { a: "x" })).rejects.toThrow(RangeError);
});

test("a problem has the rule and its parameters, as named by zod and Valibot, but never the input", async () => {
  const day = new Date("2026-01-31T00:00:00Z");
  const rulesOf = async (schema: StandardSchemaV1) => {
    const input = { name: "s3cret", size: 7, code: "s3cret", on: new Date(0) };
    const failure = (await validateInput(schema, input).catch((error: unknown) => error)) as ValidationError;
    expect(JSON.stringify(failure.errors)).not.toContain("s3cret");
    return Object.entries(failure.errors).map(([field, [error]]) => [field, error!.rule, error!.params]);
  };
  const withZod = z.object({
    name: z.string().min(8, "No."),
    size: z.number().max(5, "No.").multipleOf(2, "No."),
    code: z.uuid("No."),
    on: z.date().min(day, "No."),
  });
  expect(await rulesOf(withZod)).toEqual([
    ["name", "too_small", { minimum: 8 }],
    ["size", "too_big", { maximum: 5 }],
    ["code", "invalid_format", { format: "uuid" }],
    ["on", "too_small", { minimum: day.getTime() }],
  ]);
  const withValibot = v.object({
    name: v.pipe(v.string(), v.minLength(8, "No.")),
    size: v.pipe(v.number(), v.maxValue(5, "No.")),
    code: v.pipe(v.string(), v.uuid("No.")),
    on: v.pipe(v.date(), v.minValue(day, "No.")),
  });
  expect(await rulesOf(withValibot)).toEqual([
    ["name", "min_length", { requirement: 8 }],
    ["size", "max_value", { requirement: 5 }],
    ["code", "uuid", {}],
    ["on", "min_value", { requirement: day }],
  ]);
});

describe("S60 a value that a schema compares an input with is not revealed", () => {
  const CODE = "731946";
  const COUPONS = ["SPRING-9F2K", "VIP-77QX"] as const;
  const schemas: readonly (readonly [string, StandardSchemaV1])[] = [
    ["valibot literal", v.object({ code: v.literal(CODE, "Wrong.") })],
    ["valibot literal of a number", v.object({ code: v.literal(Number(CODE), "Wrong.") })],
    ["valibot value", v.object({ code: v.pipe(v.string(), v.value(CODE, "Wrong.")) })],
    [
      "valibot value of a number",
      v.object({ code: v.pipe(v.unknown(), v.transform(Number), v.value(731946, "Wrong.")) }),
    ],
    ["valibot not_value", v.object({ code: v.pipe(v.string(), v.notValue("x", "Wrong.")) })],
    ["valibot picklist", v.object({ code: v.picklist([...COUPONS, CODE], "Wrong.") })],
    ["valibot starts_with", v.object({ code: v.pipe(v.string(), v.startsWith(CODE, "Wrong.")) })],
    ["valibot regex", v.object({ code: v.pipe(v.string(), v.regex(/^731946$/, "Wrong.")) })],
    ["zod literal", z.object({ code: z.literal(CODE, { error: "Wrong." }) })],
    ["zod literal of a number", z.object({ code: z.literal(Number(CODE), { error: "Wrong." }) })],
    ["zod enum", z.object({ code: z.enum([...COUPONS, CODE], { error: "Wrong." }) })],
    ["zod regex", z.object({ code: z.string().regex(/^731946$/, { error: "Wrong." }) })],
    ["zod startsWith", z.object({ code: z.string().startsWith(CODE, { error: "Wrong." }) })],
  ];

  test.each(schemas)("%s, whose author replaced the sentence", async (_, schema) => {
    const failure = (await validateInput(schema, { code: "x" }).catch((error: unknown) => error)) as ValidationError;
    const [{ params, message }] = failure.errors.code as unknown as [Message];
    const { format, ...others } = params;
    expect([message, others]).toEqual(["Wrong.", {}]);
    expect(format ?? "regex").toMatch(/^(?:regex|starts_with)$/);
    expect(JSON.stringify(failure.errors)).not.toMatch(/731946|SPRING|VIP/);
  });
});

describe("S60 a sentence that repeats the input is replaced", () => {
  const invalid = (name: string) => ({
    rule: "input.invalid",
    params: { name },
    message: `The field "${name}" is not valid.`,
  });

  async function errorsOf(schema: StandardSchemaV1, input: unknown): Promise<unknown> {
    return ((await validateInput(schema, input).catch((error: unknown) => error)) as ValidationError).errors;
  }

  /** A schema that always reports this message at this path. */
  function saying(sentence: string, ...path: PropertyKey[]): StandardSchemaV1 {
    return { "~standard": { version: 1, vendor: "test", validate: () => ({ issues: [{ message: sentence, path }] }) } };
  }

  test.each([
    "correct horse",
    'with "quotes"',
    "back\\slash",
    "two\nlines",
    "x",
    "<b>",
    "Große Maß",
    "long ".repeat(400),
  ])("as in Valibot's default sentences: %j", async (text) => {
    for (const name of ["password", "note"]) {
      expect(await errorsOf(v.object({ [name]: v.pipe(v.string(), v.email()) }), { [name]: text })).toEqual({
        [name]: [invalid(name)],
      });
    }
  });

  test("even if the schema transformed it before comparing", async () => {
    const shouted = v.pipe(v.string(), v.trim(), v.toUpperCase(), v.value("OTHER"));
    const reversed = v.pipe(
      v.string(),
      v.transform((text) => [...text].reverse().join("")),
      v.value("OTHER"),
    );
    expect(await errorsOf(v.object({ note: shouted }), { note: " my secret " })).toEqual({ note: [invalid("note")] });
    expect(await errorsOf(v.object({ note: reversed }), { note: "terces" })).toEqual({ note: [invalid("note")] });
  });

  test("at any position and from any library: unquoted, as JSON, shortened", async () => {
    const text = 'Correct "Horse"\n Battery Staple, and so on';
    for (const said of [
      `must be a@b.example (was ${text})`,
      `must not be ${JSON.stringify(text)}`,
      `was "${text.slice(0, 36)}…`,
    ]) {
      expect(await errorsOf(saying(said, "items", 0, "note"), { items: [{ note: text }] })).toEqual({
        "items.0.note": [invalid("items.0.note")],
      });
    }
  });

  test("for an object or a list, if it quotes one of its texts or secrets", async () => {
    const whole = [{ rule: "input.invalidAsWhole", params: {}, message: "The input is not valid." }];
    const input = { plan: "free", login: { password: "hunter22", pin: 4711 }, notes: ["a b"] };
    expect(await errorsOf(saying('must be {} (was {"plan":"free"})'), input)).toEqual({ "": whole });
    expect(await errorsOf(saying("was hunter22"), input)).toEqual({ "": whole });
    expect(await errorsOf(saying("was 4711"), input)).toEqual({ "": whole });
    expect(await errorsOf(saying('was "a b"', "notes"), input)).toEqual({ notes: [invalid("notes")] });
    expect(await errorsOf(saying("A free plan has one seat."), input)).toEqual(
      plain({ "": ["A free plan has one seat."] }),
    );
  });

  test("however a library escapes it, and a large number too", async () => {
    expect(await errorsOf(saying('was "it\\\'s 12"', "note"), { note: "it's 12" })).toEqual({
      note: [invalid("note")],
    });
    const card = { pin: 9007199254740993n };
    expect(await errorsOf(saying("was 9007199254740993", "card"), { card })).toEqual({ card: [invalid("card")] });
  });

  test("but a blank input, and a short one without quotes, occur by chance", async () => {
    for (const [said, note] of [
      ['Write "" for none.', " \\ "],
      ["Write a few words.", "few"],
    ] as const) {
      expect(await errorsOf(saying(said, "note"), { note })).toEqual(plain({ note: [said] }));
    }
  });

  test("a sentence about a secret quotes nothing, not even the value it is compared with", async () => {
    for (const name of ["password", "pin", "recovery_code"]) {
      for (const input of [{}, { [name]: "other" }, { [name]: 4711 }]) {
        const valibot = await errorsOf(v.object({ [name]: v.literal("731946") }), input);
        // A missing field gets Valibot's message about objects.
        if (name in input) expect(valibot).toEqual({ [name]: [invalid(name)] });
        expect(JSON.stringify(valibot)).not.toMatch(/731946|other|4711/);
        expect(await errorsOf(z.object({ [name]: z.literal("731946") }), input)).toEqual({ [name]: [invalid(name)] });
      }
    }
    expect(await errorsOf(saying("Not 4711.", "pin"), { pin: 4711 })).toEqual({ pin: [invalid("pin")] });
  });

  test("a sentence about a secret contains no number except its rule's limits", async () => {
    const pins = [v.literal(4711), v.literal(47), v.pipe(v.number(), v.maxValue(9999))];
    for (const pin of pins)
      expect(await errorsOf(v.object({ pin }), { pin: 12345 })).toEqual({ pin: [invalid("pin")] });
    const changed = v.pipe(v.string(), v.transform(Number), v.literal(47));
    expect(await errorsOf(v.object({ pin: changed }), { pin: "12" })).toEqual({ pin: [invalid("pin")] });
    for (const pin of [12, 12n, "12", null]) {
      expect(await errorsOf(z.object({ pin: z.literal(4711) }), { pin })).toEqual({ pin: [invalid("pin")] });
    }
    const limit = { rule: "too_big", params: { maximum: 9999 }, message: "At most 9999." };
    const pin = z.number().max(9999, limit.message);
    expect(await errorsOf(z.object({ pin }), { pin: 12345 })).toEqual({ pin: [limit] });
    for (const [said, field] of [
      ["Use at least 12 characters.", "password"],
      ["Choose one of 4711 seats.", "seat"],
    ] as const) {
      expect(await errorsOf(saying(said, field), { [field]: "some text" })).toEqual(plain({ [field]: [said] }));
    }
  });

  test("other sentences stay as they are", async () => {
    const password = z.string().min(8, "Use at least 8 characters.").regex(/\d/, "Use a digit.");
    expect(await errorsOf(z.object({ password }), { password: "use" })).toEqual({
      password: [
        { rule: "too_small", params: { minimum: 8 }, message: "Use at least 8 characters." },
        { rule: "invalid_format", params: { format: "regex" }, message: "Use a digit." },
      ],
    });
    expect(await errorsOf(saying("Choose a size.", "size"), { size: "" })).toEqual(plain({ size: ["Choose a size."] }));
    expect(await errorsOf(saying("At most 4711.", "size"), { size: 4711 })).toEqual(plain({ size: ["At most 4711."] }));
    expect(await errorsOf(saying("Is toString missing?", "toString"), {})).toEqual(
      plain({ toString: ["Is toString missing?"] }),
    );
  });
});
