#include <hapax/admin.hpp>
#include <hapax/error.hpp>

#include "app/app_state.hpp"
#include "app/operations.hpp"
#include "app/tokens/secret.hpp"
#include "base/limits.hpp"
#include "base/random.hpp"
#include "base/uuid7.hpp"
#include "model/validate.hpp"

#include <utility>

namespace hapax {

namespace {

app::Selection all_of(const std::string& namespace_name, ListOptions filter) {
  filter.limit = limits::list_page;
  return {.ids = {}, .query = app::query_of(namespace_name, filter)};
}

TokenRecord to_public(const model::Token& from) {
  TokenRecord to{.id = from.id,
                 .name = from.name,
                 .scopes = {},
                 .created_at = from.created_at,
                 .created_by = from.created_by,
                 .expires_at = from.expires_at,
                 .revoked_at = from.revoked_at,
                 .last_used_at = from.last_used_at};
  for (const std::string_view scope : model::scope_names(from.scopes)) { to.scopes.emplace_back(scope); }
  return to;
}

}  // namespace

std::size_t Admin::cancel_all(ListOptions filter, std::string_view reason) {
  const app::Operations operations = state_->change("cancel_all");
  app::Selection selection = all_of(state_->namespace_name(), std::move(filter));
  app::select_unfinished(*selection.query);
  app::Batches batches(operations, std::move(selection));
  std::size_t count = 0;
  while (!batches.at_end()) {
    for (const model::CancelResult& result : operations.cancel(batches.next(), reason)) {
      count += result.verdict == model::CancelVerdict::cancelled || result.verdict == model::CancelVerdict::requested;
    }
  }
  return count;
}

std::size_t Admin::retry_all(ListOptions filter) {
  const app::Operations operations = state_->change("retry_all");
  app::Selection selection = all_of(state_->namespace_name(), std::move(filter));
  app::select_failed(*selection.query);
  app::Batches batches(operations, std::move(selection));
  std::size_t count = 0;
  while (!batches.at_end()) {
    for (const app::Retried& retried : operations.retry(batches.next(), {})) {
      count += retried.result.verdict == model::RetryVerdict::created;
    }
  }
  return count;
}

int Admin::discard(std::span<const Uuid> ids) {
  const app::Operations operations = state_->change("discard");
  return operations.discard(operations.named(ids));
}

int Admin::annotate(std::span<const Uuid> ids, std::string_view note) {
  const app::Operations operations = state_->change("annotate");
  app::Operations::check_note(note);
  return operations.annotate(operations.named(ids), note);
}

PurgeAnswer Admin::purge(std::string_view queue) {
  const app::Purged purged = state_->change("purge").purge(state_->queue(queue));
  return {.cancelled = static_cast<std::size_t>(purged.cancelled),
          .requested = static_cast<std::size_t>(purged.requested)};
}

std::size_t Admin::move(std::string_view from, std::string_view to, const MoveOptions& options) {
  model::check_name(from, "from");
  model::check_name(to, "to");
  const app::Moving moving{.to = state_->queue(to),
                           .limit = options.limit,
                           .target = options.create ? app::Absent::make : app::Absent::refuse};
  return static_cast<std::size_t>(state_->change("move").move(state_->queue(from), moving));
}

std::vector<AuditRecord> Admin::audit(const AuditOptions& options) {
  std::vector<AuditRecord> records;
  for (model::AuditLine& line : state_->operations().audit({.namespace_name = state_->namespace_name(),
                                .subject = options.subject,
                                .action = options.action,
                                .from = options.from,
                                .before = options.before,
                                .limit = options.limit})) {
    records.push_back({.at = line.at,
                       .actor = std::move(line.actor),
                       .action = std::move(line.action),
                       .subject = std::move(line.subject),
                       .detail = std::move(line.detail)});
  }
  return records;
}

std::vector<TokenRecord> Admin::tokens() {
  std::vector<TokenRecord> records;
  for (const model::Token& token : state_->store().tokens(state_->namespace_name())) {
    records.push_back(to_public(token));
  }
  return records;
}

CreatedToken Admin::create_token(const TokenOptions& options) {
  const app::Operations operations = state_->change("create_token");
  model::NewToken token;
  token.scopes = model::parse_scopes(options.scopes);
  if (!options.name.empty()) { model::check_name(options.name, "name"); }
  token.name = options.name;
  if (options.expires_in && (*options.expires_in <= Duration::zero() || *options.expires_in > limits::delay_max)) {
    throw InvalidArgument("expires_in", format_duration(*options.expires_in) + " is out of range; expected up to " +
                                            format_duration(limits::delay_max));
  }
  token.expires_in = options.expires_in;
  token.id = base::new_uuid7();
  base::SystemRandom random;
  auth::Secret secret = auth::new_secret(random);
  token.hash = secret.hash;
  return {.token = to_public(operations.add_token(token)), .secret = std::move(secret.text)};
}

Uuid Admin::revoke_token(std::string_view id_or_name) {
  return state_->change("revoke_token").revoke_token(std::string(id_or_name)).id;
}

}  // namespace hapax
