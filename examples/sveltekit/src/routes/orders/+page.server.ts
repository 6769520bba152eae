import { redirect } from "@sveltejs/kit";
import { order, ordersOf } from "../../orders.server.ts";
import type { Actions, PageServerLoad } from "./$types";

export const load: PageServerLoad = async ({ locals: { visitor } }) => {
  const { id, name } = visitor.requireUser();
  return { name, orders: ordersOf(id), csrfToken: await visitor.csrfToken() };
};

export const actions: Actions = {
  default: async ({ locals: { visitor }, request }) => {
    const form = await request.formData();
    order(visitor.requireUser().id, String(form.get("item")));
    redirect(303, "/orders");
  },
};
