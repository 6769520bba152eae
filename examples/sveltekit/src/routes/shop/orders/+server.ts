import { json } from "@sveltejs/kit";
import { ordersOf } from "../../../orders.server.ts";
import type { RequestHandler } from "./$types";

export const GET: RequestHandler = ({ locals: { visitor } }) => json(ordersOf(visitor.requireUser().id));
