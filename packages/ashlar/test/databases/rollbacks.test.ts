import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Casts, json, Model, primaryKey, sql, timestamp, timestamps } from "../../src/database/index.ts";
import { setClock } from "../../src/support/index.ts";
import { administerMariadb } from "../support/mariadb-databases.ts";
import { onEachDatabase, type TestDatabase, testWhere } from "../support/services.ts";

class Person extends Model {
  static override table = "people";
  static override casts: Casts = { settings: "json", seen_at: "datetime" };
  declare id: number;
  declare name: string;
  declare logins: number;
  declare settings: { theme: string } | null;
  declare seen_at: Date | null;
  declare created_at: Date;
  declare updated_at: Date;
}

const NOON = Date.parse("2026-03-01T12:00:00.000Z");
const NO = new Error("no");

await onEachDatabase("models and rollbacks", (engine) => {
  let own: TestDatabase;

  beforeAll(async () => {
    own = await engine.open();
    const { kysely } = own.database;
    await kysely.schema
      .createTable("people")
      .$call(primaryKey(kysely))
      .addColumn("name", "varchar(255)", (column) => column.notNull().unique())
      .addColumn("logins", "integer", (column) => column.notNull().defaultTo(0))
      .addColumn("settings", json(kysely))
      .addColumn("seen_at", timestamp(kysely))
      .$call(timestamps(kysely))
      .execute();
    Model.useDatabase(own.database);
  });
  beforeEach(async () => {
    setClock(() => NOON);
    await own.database.kysely.deleteFrom("people").execute();
  });
  afterEach(() => setClock(null));
  afterAll(() => own.drop());

  /** Runs a function in a transaction that is rolled back. */
  const rolledBack = async (task: () => Promise<unknown>): Promise<void> => {
    const attempt = own.database.transaction(async () => {
      await task();
      throw NO;
    });
    await expect(attempt).rejects.toBe(NO);
  };
  const named = async (name: string): Promise<Person | null> => await Person.findBy("name", name);
  const statements = async (task: () => Promise<unknown>): Promise<number> => {
    let count = 0;
    const end = own.database.onQuery(() => count++);
    await task().finally(end);
    return count;
  };
  const person = (name: string): Person => new Person().fill({ name });

  test("S68 a retried transaction stores the models that it reports as stored", async () => {
    const ada = person("Ada");
    let tries = 0;
    const attempt = async (): Promise<void> =>
      await own.database.transaction(async () => {
        await ada.save();
        if (++tries === 1) throw NO;
      });
    await expect(attempt()).rejects.toBe(NO);
    expect([ada.isStored(), { ...ada }]).toEqual([false, { name: "Ada" }]);
    await attempt();
    expect(ada.isStored()).toBe(true);
    expect((await Person.findOrFail(ada.id)).name).toBe("Ada");
  });

  test("S68 attributes added by a rolled back save are removed, including their names", async () => {
    const ada = person("Ada");
    await rolledBack(() => ada.save());
    expect(Object.keys(ada)).toEqual(["name"]);
  });

  test("S68 attributes added by a rolled back save are removed even after a deletion and another save in a savepoint", async () => {
    const ada = person("Ada");
    await rolledBack(async () => {
      await ada.save();
      await ada.delete();
      const nested = own.database.transaction(async () => {
        await ada.save();
        throw NO;
      });
      await expect(nested).rejects.toBe(NO);
    });
    expect([ada.isStored(), { ...ada }]).toEqual([false, { name: "Ada" }]);
  });

  test("S68 a change that was rolled back is stored by the next save", async () => {
    const ada = await Person.create({ name: "Ada" });
    ada.name = "Countess";
    await rolledBack(() => ada.save());
    expect([ada.name, ada.getOriginal("name"), ada.isDirty("name")]).toEqual(["Countess", "Ada", true]);
    expect(await statements(() => ada.save())).toBe(1);
    expect((await Person.findOrFail(ada.id)).name).toBe("Countess");
  });

  test("S68 a key is used only once, so the model of a rolled back row overwrites no other row", async () => {
    const ada = person("Ada");
    let given: unknown;
    await rolledBack(async () => {
      await ada.save();
      given = ada.id;
    });
    const bob = await Person.create({ name: "Bob" });
    expect(bob.id).not.toBe(given);
    ada.logins = 7;
    await ada.save();
    expect([(await named("Bob"))?.logins, (await named("Ada"))?.logins]).toEqual([0, 7]);
    expect(new Set([given, ada.id, bob.id]).size).toBe(3);
  });

  test("S68 no key is reused after a savepoint was rolled back or the last row was deleted", async () => {
    const keys: number[] = [];
    await rolledBack(async () => {
      await expect(
        own.database.transaction(async () => {
          keys.push((await Person.create({ name: "a" })).id);
          throw NO;
        }),
      ).rejects.toBe(NO);
      keys.push((await Person.create({ name: "b" })).id);
    });
    const last = await Person.create({ name: "c" });
    keys.push(last.id);
    await last.delete();
    keys.push((await Person.create({ name: "d" })).id);
    expect(new Set(keys).size).toBe(4);
  });

  test("S68 a table's very first key is used only once too", async () => {
    const { kysely } = own.database;
    await kysely.schema.createTable("firsts").$call(primaryKey(kysely)).addColumn("name", "text").execute();
    const add = async (): Promise<number> =>
      Number((await kysely.insertInto("firsts").values({ name: "a" }).returning("id").executeTakeFirstOrThrow()).id);
    let given = 0;
    await rolledBack(async () => {
      given = await add();
    });
    expect([given, await add()]).toEqual([1, 2]);
    await kysely.schema.dropTable("firsts").execute();
  });

  test("S68 a row whose deletion was rolled back is stored, and can be saved and deleted", async () => {
    const ada = await Person.create({ name: "Ada" });
    const { id } = ada;
    await rolledBack(() => ada.delete());
    expect([ada.isStored(), ada.id]).toEqual([true, id]);
    ada.logins = 1;
    await ada.save();
    expect((await Person.findOrFail(id)).logins).toBe(1);
    expect(await ada.delete()).toBe(true);
  });

  test("S68 times, defaults and the key are restored, and values set by the application stay unsaved", async () => {
    const ada = await Person.create({ name: "Ada" });
    setClock(() => NOON + 5000);
    ada.name = "Countess";
    ada.settings = { theme: "dark" };
    await rolledBack(() => ada.save());
    expect([ada.updated_at, ada.getOriginal("updated_at")]).toEqual([new Date(NOON), new Date(NOON)]);
    expect([ada.name, ada.settings, ada.isDirty("settings")]).toEqual(["Countess", { theme: "dark" }, true]);

    const seen = new Date(NOON + 1);
    const bob = Object.assign(person("Bob"), { seen_at: seen, settings: { theme: "light" } });
    await rolledBack(() => bob.save());
    expect({ ...bob }).toEqual({ name: "Bob", seen_at: seen, settings: { theme: "light" } });
  });

  test("S68 values set after the save are kept", async () => {
    const ada = person("Ada");
    await rolledBack(async () => {
      await ada.save();
      ada.name = "Countess";
      ada.logins = 3;
      ada.settings = { theme: "dark" };
    });
    expect({ ...ada }).toEqual({ name: "Countess", logins: 3, settings: { theme: "dark" } });
    await ada.save();
    expect((await Person.findOrFail(ada.id)).toJSON()).toEqual(ada.toJSON());
  });

  test("S68 after several saves the latest values stay on the model, but none in the row", async () => {
    const ada = await Person.create({ name: "Ada", settings: { theme: "dark" } });
    await rolledBack(async () => {
      ada.name = "B";
      await ada.save();
      ada.settings!.theme = "light";
      ada.name = "C";
      await ada.save();
      await ada.refresh();
    });
    expect([ada.getOriginal("name"), ada.getOriginal("settings")]).toEqual(["Ada", { theme: "dark" }]);
    expect([ada.name, ada.settings]).toEqual(["C", { theme: "light" }]);
    await ada.save();
    expect(await named("C")).toMatchObject({ settings: { theme: "light" } });
  });

  test("S68 a model that was saved, deleted and rolled back is as it was before", async () => {
    const ada = person("Ada");
    await rolledBack(async () => {
      await ada.save();
      await ada.delete();
    });
    expect([ada.isStored(), { ...ada }]).toEqual([false, { name: "Ada" }]);
    const bob = await Person.create({ name: "Bob" });
    await rolledBack(async () => {
      bob.name = "Robert";
      await bob.save();
      await bob.delete();
    });
    expect([bob.isStored(), bob.getOriginal("name"), bob.name]).toEqual([true, "Bob", "Robert"]);
  });

  test("S68 a model that was saved, deleted, saved again and rolled back has no key or times, but all values set by the application", async () => {
    const ada = Object.assign(person("Ada"), { settings: { theme: "dark" } });
    await rolledBack(async () => {
      await ada.save();
      await ada.delete();
      setClock(() => NOON + 5000);
      ada.logins = 7;
      await ada.save();
    });
    expect([ada.isStored(), { ...ada }]).toEqual([false, { name: "Ada", settings: { theme: "dark" }, logins: 7 }]);
    await ada.save();
    expect(ada.created_at).toEqual(new Date(NOON + 5000));
    expect((await Person.findOrFail(ada.id)).toJSON()).toEqual(ada.toJSON());
  });

  test("S68 a model that was deleted, saved again and rolled back has its original row, and the values set since", async () => {
    const ada = await Person.create({ name: "Ada" });
    const { id } = ada;
    setClock(() => NOON + 5000);
    await rolledBack(async () => {
      await ada.delete();
      ada.name = "Countess";
      await ada.save();
    });
    expect([ada.isStored(), ada.id, ada.getOriginal("name"), ada.name]).toEqual([true, id, "Ada", "Countess"]);
    expect([ada.isDirty("name"), ada.isDirty("updated_at"), ada.updated_at]).toEqual([true, false, new Date(NOON)]);
    await ada.save();
    expect((await Person.findOrFail(id)).name).toBe("Countess");
  });

  test("S68 values read by refresh in the transaction are not kept", async () => {
    const ada = await Person.create({ name: "Ada" });
    await rolledBack(async () => {
      await Person.where("id", ada.id).update({ name: "Countess", logins: 5 });
      await ada.refresh();
      expect(ada.name).toBe("Countess");
    });
    expect([ada.name, ada.logins, ada.isDirty()]).toEqual(["Ada", 0, false]);
  });

  test("S68 columns written by writeColumns are restored, and unsaved changes stay unsaved", async () => {
    const ada = await Person.create({ name: "Ada" });
    ada.logins = 9;
    await rolledBack(async () => {
      expect(await ada.writeColumns({ name: "Countess" }, { name: "Ada" })).toBe(true);
      expect([ada.name, ada.logins]).toEqual(["Countess", 9]);
    });
    expect([ada.name, ada.getOriginal("name"), ada.logins, ada.isDirty("logins")]).toEqual(["Ada", "Ada", 9, true]);
  });

  describe("S68 nested:", () => {
    const inner = async (task: () => Promise<unknown>): Promise<void> => await rolledBack(task);

    test("a savepoint that rolls back undoes its own part, and the outer one commits", async () => {
      const [ada, bob] = [person("Ada"), person("Bob")];
      await own.database.transaction(async () => {
        await ada.save();
        await inner(async () => {
          ada.name = "Countess";
          await ada.save();
          await bob.save();
        });
        expect([ada.getOriginal("name"), ada.isStored(), bob.isStored()]).toEqual(["Ada", true, false]);
        await bob.save();
      });
      expect([ada.isDirty("name"), (await named("Ada"))?.id, (await named("Bob"))?.id]).toEqual([true, ada.id, bob.id]);
      await ada.save();
      expect((await Person.findOrFail(ada.id)).name).toBe("Countess");
    });

    test("changes committed by an inner transaction are rolled back with the outer one", async () => {
      const [ada, bob] = [person("Ada"), await Person.create({ name: "Bob" })];
      await rolledBack(async () => {
        bob.logins = 1;
        await bob.save();
        await own.database.transaction(async () => {
          await ada.save();
          bob.logins = 2;
          await bob.save();
        });
      });
      expect([ada.isStored(), { ...ada }]).toEqual([false, { name: "Ada" }]);
      expect([bob.getOriginal("logins"), bob.logins, bob.isDirty("logins")]).toEqual([0, 2, true]);
    });

    test("rolling back an inner and then the outer one restores the state before both", async () => {
      const ada = await Person.create({ name: "Ada" });
      await rolledBack(async () => {
        ada.logins = 1;
        await ada.save();
        await inner(async () => {
          await ada.delete();
        });
        expect([ada.isStored(), ada.getOriginal("logins")]).toEqual([true, 1]);
      });
      expect([ada.isStored(), ada.getOriginal("logins"), ada.logins]).toEqual([true, 0, 1]);
    });
  });

  test("S68 a save that was not awaited is not a row after the rollback either", async () => {
    const ada = person("Ada");
    let saving: Promise<unknown> = Promise.resolve();
    const attempt = own.database.transaction(async () => {
      saving = ada.save();
      throw NO;
    });
    await expect(attempt).rejects.toBe(NO);
    await saving;
    expect([ada.isStored(), await Person.rows().count()]).toEqual([false, 0]);
  });

  // MariaDB has no deferred constraints.
  testWhere(engine.name === "mariadb", "S68 a commit that fails with its connection is a rollback", async () => {
    const ada = person("Ada");
    const attempt = own.database.transaction(async (trx) => {
      await ada.save();
      const { rows } = await sql<{ id: number }>`select connection_id() as id`.execute(trx);
      await administerMariadb(`kill ${rows[0]!.id}`);
    });
    await expect(attempt).rejects.toMatchObject({ code: "E_DATABASE_UNAVAILABLE" });
    expect([ada.isStored(), { ...ada }, await Person.rows().count()]).toEqual([false, { name: "Ada" }, 0]);
  });

  testWhere(engine.name !== "mariadb", "S68 a commit that fails is a rollback", async () => {
    const { kysely } = own.database;
    await kysely.schema
      .createTable("deferred_people")
      .addColumn("id", "integer")
      .addForeignKeyConstraint("to_people", ["id"], "people", ["id"], (key) => key.deferrable().initiallyDeferred())
      .execute();
    const ada = person("Ada");
    const attempt = own.database.transaction(async () => {
      await ada.save();
      await kysely.insertInto("deferred_people").values({ id: 987654 }).execute();
    });
    await expect(attempt).rejects.toMatchObject({ code: "E_FOREIGN_KEY_VIOLATION" });
    expect([ada.isStored(), { ...ada }]).toEqual([false, { name: "Ada" }]);
    await kysely.schema.dropTable("deferred_people").execute();
  });

  test("a transaction that commits does not change its models", async () => {
    const ada = person("Ada");
    await own.database.transaction(async () => {
      await ada.save();
      await own.database.transaction(async () => {
        ada.logins = 4;
        await ada.save();
      });
    });
    expect([ada.isStored(), ada.isDirty(), (await named("Ada"))?.toJSON()]).toEqual([true, false, ada.toJSON()]);
  });
});
