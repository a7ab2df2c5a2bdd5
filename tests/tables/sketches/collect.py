"""Seed 003's primary and idempotency tables, far enough to know that the syntax carries them."""

from __future__ import annotations

from typing import Annotated, Literal, NewType

from msgspec import Meta

from entrepot.tables import (
    Access,
    Entity,
    Item,
    Many,
    One,
    Table,
    Update,
    attr,
    begins_with,
    first,
    item,
    query,
    update,
)

UserId = NewType("UserId", str)
AthleteId = NewType("AthleteId", str)
MilestoneId = NewType("MilestoneId", str)
ModelId = NewType("ModelId", str)

WORKOUTS_MAX = 3000

collect = Table(
    "CommitCollect",
    "PK SK",
    indexes={"GSI1": "GSI1PK GSI1SK"},
    type_attribute="entityType",
    transactions=True,
)
idempotency = Table("CommitCollectIdempotency", "IdempotencyKey", ttl="expiresAtUtc", transactions=True)


@collect.entity(PK="USER#{userId}", SK="PROFILE")
class Profile(Entity):
    userId: UserId
    displayName: str


@collect.entity(
    PK="USER#{userId}", SK="STRAVA#CONNECTION", GSI1PK="STRAVA#ATHLETE#{athleteId}", GSI1SK="USER#{userId}"
)
class Connection(Entity):
    userId: UserId
    athleteId: AthleteId
    accessToken: str
    refreshToken: str


class Connections(Access[Connection]):
    def of_user(self, userId: UserId) -> Item[Connection]:
        return item()

    def of_athlete(self, athleteId: AthleteId) -> One[Connection]:
        """Resolve Strava athleteId to internal userId."""
        return first(GSI1PK=f"STRAVA#ATHLETE#{athleteId}", confirm=True)


@collect.entity(PK="STRAVA#ATHLETE#{athleteId}", SK="OWNER")
class Owner(Entity):
    athleteId: AthleteId
    userId: UserId


class Owners(Access[Owner]):
    def of_athlete(self, athleteId: AthleteId) -> Item[Owner]:
        return item()


@collect.entity(PK="USER#{userId}", SK="WORKOUT#STRAVA#{activityId}")
class Workout(Entity):
    userId: UserId
    activityId: str
    sport: Literal["RIDE", "RUN", "SWIM", "WALK"]
    distanceMillimeters: int
    isDeleted: bool = False


class Workouts(Access[Workout]):
    def of_user(self, userId: UserId) -> Many[Workout]:
        return query(PK=f"USER#{userId}", SK=begins_with("WORKOUT#STRAVA#"), at_most=WORKOUTS_MAX)


@collect.entity(PK="USER#{userId}", SK="MILESTONE#{milestoneId}", version="version")
class Milestone(Entity):
    userId: UserId
    milestoneId: Annotated[MilestoneId, Meta(min_length=26, max_length=26)]
    modelId: ModelId
    totalTarget: int
    progressValue: int = 0
    completedAtUtc: str | None = None
    version: int = 1


class Milestones(Access[Milestone]):
    def one(self, userId: UserId, milestoneId: MilestoneId) -> Item[Milestone]:
        return item()

    def of_user(self, userId: UserId) -> Many[Milestone]:
        """Awards share the prefix, and are left out by their type."""
        return query(PK=f"USER#{userId}", SK=begins_with("MILESTONE#"))

    def progressed(
        self, userId: UserId, milestoneId: MilestoneId, progressValue: int, version: int
    ) -> Update[Milestone]:
        return update(
            attr(Milestone.progressValue).set(progressValue),
            when=(attr(Milestone.version) == version) & (attr(Milestone.progressValue) <= progressValue),
        )


@collect.entity(PK="USER#{userId}", SK="MILESTONE#{milestoneId}#AWARD#{partIndex:02}")
class Award(Entity):
    userId: UserId
    milestoneId: MilestoneId
    partIndex: int
    title: str


class Awards(Access[Award]):
    def of_milestone(self, userId: UserId, milestoneId: MilestoneId) -> Many[Award]:
        return query(PK=f"USER#{userId}", SK=begins_with(f"MILESTONE#{milestoneId}#AWARD#"))


@collect.entity(PK="MODEL#{modelId}", SK="META")
class Model(Entity):
    modelId: ModelId
    name: str


@collect.entity(PK="MODEL#{modelId}", SK="PART#{index:02}")
class Part(Entity):
    modelId: ModelId
    index: int
    title: str


class Models(Access[Model]):
    def with_parts(self, modelId: ModelId) -> Many[Model | Part]:
        return query(PK=f"MODEL#{modelId}")


class Partitions(Access[Profile]):
    def everything_of(self, userId: UserId) -> Many[Profile | Connection | Workout | Milestone | Award]:
        """The athlete's whole partition, for deletion."""
        return query(PK=f"USER#{userId}", at_most=100_000)


@idempotency.entity()
class Ingested(Entity):
    IdempotencyKey: str
    status: Literal["IN_PROGRESS", "DONE"]
    leaseUntil: int | None = None
    expiresAtUtc: int


class Ingestions(Access[Ingested]):
    def one(self, IdempotencyKey: str) -> Item[Ingested]:
        return item()
