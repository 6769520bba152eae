import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, test, vi } from "vitest";
import { type Customer, type Purchase, type TestShop, testShop } from "../../../test/support/test-shop.ts";
import { verifyPassword } from "../../security/index.ts";
import { HashingThreads } from "../../security/password/hashing-threads.ts";
import { type Factory, factory, resetDatabase } from "../index.ts";

let shop: TestShop;
let customers: Factory<Customer>;

beforeAll(async () => {
  shop = await testShop();
});

afterAll(() => shop.close());

beforeEach(async () => {
  await resetDatabase(shop.application);
  customers = factory(shop.Customer, (n) => ({
    name: `C${n}`,
    email: `c${n}@example.com`,
    password: "a good password",
  }));
});

describe("models", () => {
  test("make stores nothing", async () => {
    const customer = await customers.make();
    expectTypeOf(customer).toEqualTypeOf<Customer>();
    expect({ name: customer.name, email: customer.email, stored: customer.isStored() }).toEqual({
      name: "C1",
      email: "c1@example.com",
      stored: false,
    });
    expect(await shop.Customer.all()).toEqual([]);
  });

  test("create stores one, of the given class", async () => {
    const customer = await customers.create();
    expect(customer).toBeInstanceOf(shop.Customer);
    expect(await shop.Customer.findOrFail(customer.id)).toMatchObject({ name: "C1" });
    expect(customer.created_at).toBeInstanceOf(Date);
  });

  test("createMany stores several, with continuing numbers", async () => {
    await customers.make();
    const made = await customers.createMany(3, { name: "Same" });
    expect(made.map(({ name, email }) => [name, email])).toEqual([
      ["Same", "c2@example.com"],
      ["Same", "c3@example.com"],
      ["Same", "c4@example.com"],
    ]);
    expect(made.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(await customers.createMany(0)).toEqual([]);
  });

  test("each factory counts separately, even if many are created concurrently", async () => {
    const others = factory(shop.Customer, (n) => ({ name: `O${n}`, email: `o${n}@example.com`, password: "x" }));
    const made = await Promise.all([customers.create(), others.create(), customers.create(), others.create()]);
    expect(made.map(({ name }) => name).sort()).toEqual(["C1", "C2", "O1", "O2"]);
  });

  test("overrides win, including the primary key and columns that are not fillable", async () => {
    const customer = await customers.create({ id: 77, email: "ada@example.com", api_token: null });
    expect(await shop.Customer.findOrFail(77)).toMatchObject({ email: "ada@example.com", name: "C1" });
    expect(customer.id).toBe(77);
    expect((await customers.make({ name: undefined })).name).toBeUndefined();
  });

  test("a row that the table refuses throws the same error as save", async () => {
    await customers.create({ email: "ada@example.com" });
    await expect(customers.create({ email: "ada@example.com" })).rejects.toMatchObject({ code: "E_UNIQUE_VIOLATION" });
    await expect(customers.create({ "no column": 1 })).rejects.toMatchObject({ code: "E_INVALID_QUERY" });
  });
});

describe("values that are created on demand", () => {
  let purchases: Factory<Purchase>;

  beforeEach(() => {
    purchases = factory(shop.Purchase, async (n) => ({
      title: `P${n}`,
      customer_id: async () => (await customers.create()).id,
    }));
  });

  test("another model", async () => {
    const purchase = await purchases.create();
    expect((await shop.Customer.findOrFail(purchase.customer_id)).name).toBe("C1");
  });

  test("not if an override replaces them", async () => {
    const ada = await customers.create({ name: "Ada" });
    await purchases.createMany(2, { customer_id: ada.id });
    expect(await shop.Customer.rows().count()).toBe(1);
    expect((await shop.Purchase.all()).map(({ title, customer_id }) => [title, customer_id])).toEqual([
      ["P1", ada.id],
      ["P2", ada.id],
    ]);
  });
});

describe("passwords", () => {
  test("S31 are given as text and stored as a hash, one for all users with the same password", async () => {
    const [ada, bob] = await customers.createMany(2);
    expect(ada!.password).toMatch(/^\$argon2id\$/);
    expect(bob!.password).toBe(ada!.password);
    expect(await verifyPassword(ada!.password, "a good password")).toBe(true);
    expect((await customers.create({ password: "another" })).password).not.toBe(ada!.password);
  });

  test("a hash is stored unchanged", async () => {
    const ada = await customers.create();
    expect((await customers.create({ password: ada.password })).password).toBe(ada.password);
  });

  test("a hundred users cost one hash", async () => {
    const run = vi.spyOn(HashingThreads.prototype, "run");
    await customers.createMany(100, { password: "the password of a hundred" });
    expect(run).toHaveBeenCalledTimes(1);
    run.mockRestore();
  });

  test("a model that is not a user stores a column with that name like any other", async () => {
    const purchases = factory(shop.Purchase, () => ({ title: "T", password: "plain" }));
    expect(await purchases.make()).toMatchObject({ password: "plain" });
  });
});
