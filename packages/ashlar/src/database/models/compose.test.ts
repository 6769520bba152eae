// biome-ignore-all lint/complexity/noThisInStatic: a mixin's static methods work on the class they become part of.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, expectTypeOf, test } from "vitest";
import type { Constructor } from "../../support/index.ts";
import { Database } from "../connections/database.ts";
import { primaryKey, timestamp, timestamps } from "../dialect/columns.ts";
import { compose } from "./compose.ts";
import { Model } from "./model.ts";
import type { Attributes, Column, ModelClass, ModelKey } from "./model-types.ts";

interface Tokens {
  api_token: string | null;
  tokenDigest(): string | null;
}
interface TokensStatics {
  tokenColumn: string;
  replaceToken(id: ModelKey, old: string, next: string): Promise<boolean>;
}

function HasTokens<B extends ModelClass>(base: B): B & Constructor<Tokens> & TokensStatics {
  return class extends base {
    static tokenColumn = "api_token";
    static override hidden: readonly string[] = ["api_token"];
    declare api_token: string | null;

    static async replaceToken(id: ModelKey, old: string, next: string): Promise<boolean> {
      const model = this as unknown as ModelClass;
      const query = model.where(model.primaryKey, id).where(this.tokenColumn, old);
      return (await query.update({ [this.tokenColumn]: next })) === 1;
    }

    tokenDigest(): string | null {
      return this.api_token;
    }
  };
}

interface Verifies {
  verified_at: Date | null;
  hasVerifiedEmail(): boolean;
  markEmailAsVerified(): Promise<void>;
}

function Verifiable<B extends ModelClass>(base: B): B & Constructor<Verifies> {
  return class extends base {
    static override casts: ModelClass["casts"] = { verified_at: "datetime" };
    declare verified_at: Date | null;

    hasVerifiedEmail(): boolean {
      return this.verified_at !== null;
    }

    async markEmailAsVerified(): Promise<void> {
      this.verified_at = new Date(1000);
      await this.save();
    }
  };
}

class User extends compose(Model, HasTokens, Verifiable) {
  static override table = "people";
  static override hidden = ["password"];
  static override casts = { admin: "boolean" } as const;
  declare id: number;
  declare email: string;
  declare password: string | null;
  declare admin: boolean;
}

const database = new Database({ default: "main", main: { driver: "sqlite", path: ":memory:" } }, "/");

beforeAll(async () => {
  User.useDatabase(database);
  await database.kysely.schema
    .createTable("people")
    .$call(primaryKey(database.kysely))
    .addColumn("email", "varchar(255)")
    .addColumn("password", "varchar(255)")
    .addColumn("api_token", "varchar(255)")
    .addColumn("admin", "boolean")
    .addColumn("verified_at", timestamp(database.kysely))
    .$call(timestamps(database.kysely))
    .execute();
});
afterAll(() => database.close());

test("a composed class has the columns, methods and statics of its mixins", async () => {
  const user = await User.create({ email: "a@example.com", api_token: "old", password: "x", admin: true });
  expect(user.tokenDigest()).toBe("old");
  expect(user.hasVerifiedEmail()).toBe(false);
  await user.markEmailAsVerified();
  expect((await User.findOrFail(user.id)).verified_at).toEqual(new Date(1000));
  expect(User.tokenColumn).toBe("api_token");
  expect([await User.replaceToken(user.id, "old", "new"), await User.replaceToken(user.id, "old", "newer")]).toEqual([
    true,
    false,
  ]);
});

test("casts and hidden columns of a mixin still apply if the class lists more", async () => {
  const user = await User.create({
    email: "b@example.com",
    password: "x",
    api_token: "t",
    admin: false,
    verified_at: new Date(5),
  });
  const { id } = user;
  const found = await User.findOrFail(id);
  expect([found.verified_at, found.admin]).toEqual([new Date(5), false]);
  expect(Object.keys(found.toJSON()).sort()).toEqual([
    "admin",
    "created_at",
    "email",
    "id",
    "updated_at",
    "verified_at",
  ]);
});

test("the first mixin is the innermost, and without any the class is the model's", () => {
  const trail: string[] = [];
  const named =
    (name: string) =>
    <B extends ModelClass>(base: B): B => {
      trail.push(name);
      return base;
    };
  compose(Model, named("1"), named("2"), named("3"), named("4"), named("5"), named("6"));
  expect(trail).toEqual(["1", "2", "3", "4", "5", "6"]);
  expect(compose(Model)).toBe(Model);
});

test("types: the complete class is known", () => {
  expectTypeOf(() => User.find(1)).returns.toEqualTypeOf<Promise<User | null>>();
  expectTypeOf(() => User.findOrFail("1")).returns.toEqualTypeOf<Promise<User>>();
  expectTypeOf(() => User.findBy("email", "a")).returns.toEqualTypeOf<Promise<User | null>>();
  expectTypeOf(() => User.all()).returns.toEqualTypeOf<Promise<User[]>>();
  expectTypeOf(() => User.where("verified_at", "<", new Date()).first()).returns.toEqualTypeOf<Promise<User | null>>();
  expectTypeOf(User.replaceToken).returns.toEqualTypeOf<Promise<boolean>>();
  expectTypeOf<User["verified_at"]>().toEqualTypeOf<Date | null>();
  expectTypeOf<Column<User>>().toEqualTypeOf<"id" | "email" | "password" | "admin" | "verified_at" | "api_token">();
  expectTypeOf<Column<Model>>().toEqualTypeOf<string>();
  expectTypeOf<Attributes<User>["admin"]>().toEqualTypeOf<boolean | null | undefined>();
  // biome-ignore format: each directive belongs to one line
  const wrong = (): unknown[] => [
    // @ts-expect-error no such column
    User.findBy("mail", "a"),
    // @ts-expect-error a method is not a column
    User.where("tokenDigest", "a"),
    // @ts-expect-error no such column
    User.create({ mail: "a" }),
    // @ts-expect-error not of this type
    User.create({ admin: "yes" }),
    // @ts-expect-error a list is not a value
    User.where("email", ["a"]),
    // @ts-expect-error no such operator
    User.where("email", "~", "a"),
  ];
  expect(wrong).toBeTypeOf("function");
});

test("a composed class is accepted as a model's class, whatever is mixed in", () => {
  const takes = (modelClass: ModelClass): string => modelClass.table;
  expect(takes(User)).toBe("people");
  expect(takes(Model)).toBe("models");
});

test("a composed class with declared fields runs with Node's type stripping", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ashlar-compose-"));
  const here = import.meta.dirname;
  await writeFile(
    join(folder, "user.ts"),
    `import { compose } from "${here}/compose.ts";
     import { Database } from "${here}/../connections/database.ts";
     import { Model } from "${here}/model.ts";
     import type { ModelClass } from "${here}/model-types.ts";
     const Named = <B extends ModelClass>(base: B) => class extends base { declare name: string; hello(): string { return "hello " + this.name; } };
     class User extends compose(Model, Named) { static override table = "users"; static override timestamps = false; declare id: number; }
     const database = new Database({ default: "a", a: { driver: "sqlite", path: ":memory:" } }, "/");
     Model.useDatabase(database);
     await database.kysely.schema.createTable("users").addColumn("id", "integer", (c) => c.primaryKey()).addColumn("name", "text").execute();
     const { id } = await User.create({ name: "Ada" });
     console.log((await User.findOrFail(id)).hello(), JSON.stringify(await User.find(id)));`,
  );
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "user.ts")]);
  await rm(folder, { recursive: true });
  expect(stdout.trim()).toBe('hello Ada {"id":1,"name":"Ada"}');
});
