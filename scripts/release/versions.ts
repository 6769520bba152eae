const PARTS = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-(?:alpha|beta|rc)\.(0|[1-9]\d*))?$/;

/** Whether a text is a version number that we use for releases: `1.2.3`, or `1.2.3-beta.1`. */
export function isVersion(text: string): boolean {
  return PARTS.test(text);
}

/** Whether a version comes after another one, by Semantic Versioning, which orders kinds of previews alphabetically. */
export function isNewer(version: string, than: string): boolean {
  const [core, preview] = split(version);
  const [otherCore, otherPreview] = split(than);
  const difference = compared(core, otherCore);
  if (difference !== 0) return difference > 0;
  if (preview === null || otherPreview === null) return preview === null && otherPreview !== null;
  return preview.kind === otherPreview.kind ? preview.count > otherPreview.count : preview.kind > otherPreview.kind;
}

function split(
  version: string,
): readonly [core: readonly number[], preview: { readonly kind: string; readonly count: number } | null] {
  const [core = "", preview] = version.split("-");
  const [kind = "", count] = preview?.split(".") ?? [];
  return [core.split(".").map(Number), preview === undefined ? null : { kind, count: Number(count) }];
}

function compared(one: readonly number[], other: readonly number[]): number {
  const index = one.findIndex((part, at) => part !== other[at]);
  return index === -1 ? 0 : one[index]! - other[index]!;
}
