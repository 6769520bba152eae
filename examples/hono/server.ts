// Orders by Hono, accounts by Ashlar: its pages, its API, its files in public/.
import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import type { Authentication } from "ashlar/auth";
import { type Context, Hono } from "hono";
import { html } from "hono/html";
import accounts from "./app.ts";

const orders = new Map<number, string[]>();
const ordersOf = (id: number): string[] => orders.get(id) ?? [];

type Shop = { Variables: { visitor: Authentication } };

const hono = new Hono<Shop>();

const addressOf = (c: Context): string | undefined => getConnInfo(c).remote.address;

// Finds out who the user is, for the shop's pages. A form's token is in the body, which Hono keeps for the handler.
hono.use("/orders", async (c, next) => {
  const form = c.req.method === "POST" ? await c.req.parseBody() : {};
  const options = { address: addressOf(c), csrfToken: form.__token };
  const visitor = await accounts.authenticate(c.req.raw, options);
  if (visitor.user === null) return await visitor.refuse();
  c.set("visitor", visitor);
  await next();
  c.res = visitor.apply(c.res);
});

hono.get("/orders", async (c) => {
  const visitor = c.get("visitor");
  const { id, name } = visitor.requireUser();
  return c.html(html`<!doctype html>
    <title>Orders</title>
    <h1>Orders of ${name}</h1>
    <ul>${ordersOf(id).map((item) => html`<li>${item}</li>`)}</ul>
    <form method="post">
      <input type="hidden" name="__token" value="${await visitor.csrfToken()}" />
      <input name="item" required /><button>Order</button>
    </form>
    <form method="post" action="/logout">
      <input type="hidden" name="__token" value="${await visitor.csrfToken()}" /><button>Log out</button>
    </form>`);
});

hono.post("/orders", async (c) => {
  const { id } = c.get("visitor").requireUser();
  const { item } = await c.req.parseBody();
  // A forged form can have a file there.
  if (typeof item === "string") orders.set(id, [...ordersOf(id), item]);
  return c.redirect("/orders", 303);
});

// API clients send a token from POST /api/auth.
hono.get("/shop/orders", async (c) => {
  const visitor = await accounts.authenticate(c.req.raw, { address: addressOf(c), guard: "jwt" });
  return visitor.apply(c.json(ordersOf(visitor.requireUser().id)));
});

hono.all("*", (c) => accounts.fetch(c.req.raw, { address: addressOf(c) }));

hono.onError((error, c) => accounts.errorResponse(c.req.raw, error, { address: addressOf(c) }));

serve({ fetch: hono.fetch, port: Number(process.env.PORT ?? 3000) }, ({ port }) => {
  console.log(`The shop is at http://localhost:${port}/orders`);
});
