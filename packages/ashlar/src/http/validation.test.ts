import type { StandardSchemaV1 } from "@standard-schema/spec";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { plain, sentencesIn } from "../../test/support/field-errors.ts";
import { ValidationError } from "../support/index.ts";
import { parseForm } from "./form-parser.ts";
import { parseJson } from "./json-parser.ts";
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
  test("takes dictionaries without a prototype at every level", async () => {
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

test("a problem of the whole is under the empty name, several of one field are in order", async () => {
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

test("paths made of segment objects, numbers and symbols are dotted", async () => {
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

test("a problem names the rule and what it asks for, as zod and Valibot name them, and never the input", async () => {
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
    ["name", "min_length", { expected: ">=8", requirement: 8 }],
    ["size", "max_value", { expected: "<=5", requirement: 5 }],
    ["code", "uuid", {}],
    ["on", "min_value", { expected: ">=2026-01-31T00:00:00.000Z", requirement: day }],
  ]);
});
