const orders = new Map<number, string[]>();

/** The orders of a user. */
export function ordersOf(id: number): string[] {
  return orders.get(id) ?? [];
}

export function order(id: number, item: string): void {
  orders.set(id, [...ordersOf(id), item]);
}
