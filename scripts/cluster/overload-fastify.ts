// The application of overload.ts, on Fastify with its plugin against overload.
import cluster from "node:cluster";
import underPressure from "@fastify/under-pressure";
import Fastify from "fastify";
import pg from "pg";
import { POOL_SIZE, STATEMENT } from "./overload-servers.ts";

const WORDS = "<!doctype html><title>Shop</title><h1>Hello</h1>";

function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

const workers = Number(process.env.WORKERS);
if (workers > 0 && cluster.isPrimary) {
  for (let count = 0; count < workers; count++) cluster.fork();
} else {
  const pool = new pg.Pool({
    connectionString: process.env.DATABASE_URL!,
    max: POOL_SIZE,
    connectionTimeoutMillis: 10_000,
  });
  const fastify = Fastify({ logger: true });
  await fastify.register(underPressure, { maxEventLoopDelay: 1000, retryAfter: 1 });
  fastify.get<{ Params: { ms: string } }>("/busy/:ms", (request, reply) => {
    spin(Number(request.params.ms));
    return reply.type("text/html").send(WORDS);
  });
  fastify.get("/database", async (_request, reply) => {
    for (let count = 0; count < 2; count++) await pool.query(STATEMENT);
    return reply.type("text/html").send(WORDS);
  });
  for (const path of ["/up", "/ready"]) fastify.get(path, () => ({ status: "ok" }));
  await fastify.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
}
