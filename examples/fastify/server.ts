// Orders by Fastify, accounts by Ashlar: its pages, its API, its files in public/.
import formbody from "@fastify/formbody";
import type { Authentication } from "ashlar/auth";
import Fastify from "fastify";
import accounts from "./app.ts";

declare module "fastify" {
  interface FastifyRequest {
    visitor: Authentication | null;
  }
  interface FastifyContextConfig {
    /** How the route's users prove who they are; default: by logging in. */
    guard?: "web" | "jwt";
  }
}

const orders = new Map<number, string[]>();
const ordersOf = (id: number): string[] => orders.get(id) ?? [];

const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const fastify = Fastify();

// Ashlar's error pages and problem documents, for every route.
fastify.setErrorHandler(async (error, request, reply) => reply.send(await accounts.errorResponse(request.raw, error)));

fastify.register(async (shop) => {
  await shop.register(formbody);
  shop.decorateRequest("visitor", null);
  shop.addHook("preHandler", async (request, reply) => {
    const { __token: csrfToken } = (request.body ?? {}) as { readonly __token?: unknown };
    const { guard = "web" } = request.routeOptions.config;
    const visitor = await accounts.authenticate(request.raw, { guard, csrfToken });
    if (visitor.user === null) return reply.send(await visitor.refuse());
    request.visitor = visitor;
  });
  shop.addHook("onSend", async ({ visitor }, reply) => {
    for (const [name, value] of visitor?.headers ?? []) reply.header(name, value);
  });

  shop.get("/orders", async ({ visitor }, reply) => {
    const { id, name } = visitor!.requireUser();
    const token = `<input type="hidden" name="__token" value="${await visitor!.csrfToken()}">`;
    const items = ordersOf(id).map((item) => `<li>${escaped(item)}</li>`);
    reply.type("text/html; charset=utf-8");
    return `<!doctype html>
      <title>Orders</title>
      <h1>Orders of ${escaped(name)}</h1>
      <ul>${items.join("")}</ul>
      <form method="post">${token}<input name="item" required><button>Order</button></form>
      <form method="post" action="/logout">${token}<button>Log out</button></form>`;
  });

  shop.post<{ Body: { item: string } }>("/orders", async ({ body, visitor }, reply) => {
    const { id } = visitor!.requireUser();
    orders.set(id, [...ordersOf(id), String(body.item)]);
    return reply.redirect("/orders", 303);
  });

  // API clients send a token from POST /api/auth.
  shop.get("/shop/orders", { config: { guard: "jwt" } }, async ({ visitor }) => ordersOf(visitor!.requireUser().id));
});

// Ashlar handles everything else, and gets the body unread.
fastify.register(async (rest) => {
  rest.removeAllContentTypeParsers();
  rest.addContentTypeParser("*", (_request, _body, done) => done(null));
  rest.all("/*", (request, reply) => {
    reply.hijack();
    accounts.handler(request.raw, reply.raw);
  });
});

const address = await fastify.listen({ port: Number(process.env.PORT ?? 3000) });
console.log(`The shop is at ${address}/orders`);
