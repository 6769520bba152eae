export {
  isNodeResponse,
  type NodeParts,
  nodeParts,
  type PreparedResponse,
  parsedUrl,
  preparedByNode,
  takenBytes,
  unblockStandardOutput,
} from "./private-members.ts";
